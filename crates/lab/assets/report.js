
"use strict";
// Tables are sorted by the column whose heading is pressed, and the other way round when pressed again.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const figures = [...body.rows].some((row) => "value" in row.cells[column].dataset);
    head.classList.toggle("figures", figures);
    head.firstElementChild.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column];
      const order = figures
        ? (a, b) => key(a).dataset.value - key(b).dataset.value
        : (a, b) => key(a).textContent.localeCompare(key(b).textContent);
      const rows = [...body.rows].sort((a, b) => (up ? order(a, b) : order(b, a)));
      body.append(...rows);
    });
  });
}
