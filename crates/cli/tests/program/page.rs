//! The pages of a record and of a ledger in a real browser: light and dark, on a phone, printed, and by the rules of
//! accessibility.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::partners::{
    Projects,
    Side::{Accepter, Inviter},
    print_of,
};

/// Looks at the page in a frame, and writes what it sees.
const PROBE: &str = r#"<!doctype html><meta charset="utf-8">
<iframe id="frame" style="border:0;width:{width}px;height:3000px" srcdoc="{page}"></iframe><pre id="seen"></pre>
<script>
frame.onload = () => {
  const page = frame.contentDocument, all = [...page.querySelectorAll("p,li,th,td,h1,h2")];
  const style = (element) => frame.contentWindow.getComputedStyle(element);
  seen.textContent = JSON.stringify({
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    paper: style(page.body).backgroundColor,
    ink: style(page.body).color,
    needs: page.documentElement.scrollWidth,
    smallest: Math.min(...all.map((element) => parseFloat(style(element).fontSize))),
    headings: [...page.querySelectorAll("h1,h2")].map((heading) => heading.textContent),
    picture: page.querySelector("svg").getAttribute("aria-label"),
    scripts: page.scripts.length,
    fetched: frame.contentWindow.performance.getEntriesByType("resource").length,
  });
};
</script>"#;

/// Runs the rules of axe-core on the page itself.
const AXE: &str = r#"<script>{axe}</script><script>
axe.run(document).then((results) => {
  const seen = document.createElement("pre");
  seen.id = "seen";
  seen.textContent = JSON.stringify({
    passes: results.passes.length,
    violations: results.violations.map((found) => [found.id, found.nodes.map((node) => node.html)]),
  });
  document.body.append(seen);
});
</script>"#;

/// Returns the browser, installed if necessary; if it is missing, prints so and returns `None`.
fn browser() -> Option<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/tests/install-chromium.sh");
    let output = Command::new("/bin/sh").arg(script).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        let why = text(&output.stderr);
        // Not by a macro, whose output is shown only for tests that fail.
        let mut terminal = std::io::stderr();
        writeln!(terminal, "SKIPPED: the page was not looked at in a browser: {why}").unwrap();
        return None;
    }
    Some(text(&output.stdout))
}

fn run(browser: &str, scratch: &Path, flags: &[&str], file: &Path) -> Output {
    Command::new("timeout")
        .args(["240", browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .args(["--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr"])
        .args(["--virtual-time-budget=6000", "--window-size=1400,1000"])
        .arg(format!("--user-data-dir={}", scratch.join("profile").display()))
        .args(flags)
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Returns the text in a page's element `seen`, and the browser's messages.
fn seen(output: Output) -> (Value, String) {
    let [dom, said] =
        [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    let text = dom.split_once("id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let text = text.unwrap_or_else(|| panic!("{dom}\n{said}")).0;
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    (serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")), said)
}

/// The pages of a run's record and of its ledger.
fn pages() -> [String; 2] {
    let projects = Projects::new(200);
    projects.agree(&[], &[]);
    projects.run_well();
    let [inviter, accepter] =
        [Inviter, Accepter].map(|side| print_of(&projects.path(side, "vesica.identity")));
    let names = [format!("{inviter}=Acme"), format!("{accepter}=Müller & Söhne")];
    let named = ["--name", &names[0], "--name", &names[1]];
    let page = ["report", "acme.record", "--html", "page.html"];
    projects.succeeds(Inviter, &[&page[..], &named].concat());
    let ledger = ["ledger", "page", "--html", "ledger.html"];
    projects.succeeds(Inviter, &[&ledger[..], &named].concat());
    ["page.html", "ledger.html"].map(|name| projects.read(Inviter, name))
}

#[test]
fn the_page_of_a_record_looks_right_and_asks_for_nothing() {
    let Some(browser) = browser() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let [page, _] = pages();
    let escaped = page.replace('&', "&amp;").replace('"', "&quot;");
    let mut papers = Vec::new();
    for (width, flags, dark) in [
        (1000, &["--dump-dom"][..], false),
        (1000, &["--dump-dom", "--blink-settings=preferredColorScheme=0"], true),
        (340, &["--dump-dom"], false),
    ] {
        let probe = PROBE.replace("{width}", &width.to_string()).replace("{page}", &escaped);
        let file = scratch.path().join("probe.html");
        fs::write(&file, probe).unwrap();
        let (found, said) = seen(run(&browser, scratch.path(), flags, &file));
        assert_eq!(found["dark"], dark, "{found}");
        assert_ne!(found["paper"], found["ink"]);
        assert!(found["needs"].as_u64() <= Some(width), "wider than its window: {found}");
        assert!(found["smallest"].as_f64() >= Some(13.0), "too small to read: {found}");
        assert_eq!((&found["scripts"], &found["fetched"]), (&json!(0), &json!(0)), "{found}");
        let headings = [
            "Müller & Söhne learned",
            "Acme learned",
            "Neither side learned",
            "Assumptions",
            "Details",
            "How to check it",
        ];
        assert_eq!(found["headings"].as_array().unwrap()[1..], headings.map(Value::from));
        let picture = found["picture"].as_str().unwrap();
        assert!(
            picture.contains("200 keys of Müller & Söhne") && picture.contains("100 shared"),
            "{picture}"
        );
        assert!(!said.contains("CONSOLE"), "{said}");
        papers.push(found["paper"].to_string());
    }
    assert_eq!(papers[0], papers[2]);
    assert_ne!(papers[0], papers[1], "dark is not light");

    // For inspection by a person.
    let kept = std::env::var_os("VESICA_SCREENSHOTS").map(std::path::PathBuf::from);
    let pictures = kept.unwrap_or_else(|| scratch.path().to_owned());
    let file = pictures.join("record.html");
    fs::write(&file, &page).unwrap();
    for (name, flag) in [
        ("light.png", "--hide-scrollbars"),
        ("dark.png", "--blink-settings=preferredColorScheme=0"),
    ] {
        let picture = pictures.join(format!("record-{name}"));
        let screenshot = format!("--screenshot={}", picture.display());
        let flags = [screenshot.as_str(), flag, "--window-size=1000,1900"];
        let output = run(&browser, scratch.path(), &flags, &file);
        let bytes = fs::read(&picture).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000, "{name}: {}", bytes.len());
    }
    let print = pictures.join("record.pdf");
    run(&browser, scratch.path(), &[&format!("--print-to-pdf={}", print.display())], &file);
    assert!(fs::read(&print).unwrap().starts_with(b"%PDF"));
}

#[test]
#[ignore = "assure: it fetches the rules of accessibility from npm"]
fn the_pages_of_a_record_and_a_ledger_are_accessible() {
    let browser = browser().expect("a browser");
    let scratch = tempfile::tempdir().unwrap();
    let in_scratch = |program: &str, arguments: &[&str]| {
        let ended = Command::new(program).args(arguments).current_dir(&scratch).output().unwrap();
        assert!(ended.status.success(), "{program}: {ended:?}");
    };
    in_scratch("npm", &["pack", "--silent", "axe-core@4"]);
    in_scratch("sh", &["-c", "tar -xzf axe-core-*.tgz package/axe.min.js"]);
    let axe = fs::read_to_string(scratch.path().join("package/axe.min.js")).unwrap();
    let axe = AXE.replace("{axe}", &axe.replace("</script>", "<\\/script>"));
    // The pages allow no script; the rules need one.
    let open = pages().map(|page| {
        let start = page.find("<meta http-equiv").unwrap();
        let end = start + page[start..].find('\n').unwrap();
        format!("{}{}", &page[..start], &page[end..])
    });
    let check = |page: String, flags: &[&str]| {
        let file = scratch.path().join("axe.html");
        fs::write(&file, page.replace("</body>", &format!("{axe}</body>"))).unwrap();
        seen(run(&browser, scratch.path(), &[&["--dump-dom"], flags].concat(), &file)).0
    };
    for page in &open {
        for flags in [&[][..], &["--blink-settings=preferredColorScheme=0"]] {
            let found = check(page.clone(), flags);
            assert_eq!(found["violations"], json!([]), "{found:#}");
            assert!(found["passes"].as_u64() > Some(10), "{found}");
        }
    }
    // A page that is not accessible is found out.
    let spoilt = open[0]
        .replace("role=\"img\" aria-label", "role=\"img\" data-label")
        .replace("lang=\"en\"", "");
    let found = check(spoilt, &[]);
    assert!(found["violations"].as_array().unwrap().len() >= 2, "{found}");
}
