// What stands between the browser and the service: it notes every request, and spoils answers where a test wants it to.

import http from "node:http";

export class Between {
  /** Every request: method, address, header fields and body. */
  requests = [];
  /** Spoils an answer: takes the request's address and the answer, and returns another answer. */
  spoil = undefined;
  #server;
  #target;

  static async start(target) {
    const between = new Between();
    between.#target = target;
    between.#server = http.createServer((request, response) =>
      between.#pass(request, response).catch((error) => {
        console.error(`between: ${error.message}`);
        response.destroy();
      }),
    );
    await new Promise((resolve) => between.#server.listen(0, "127.0.0.1", resolve));
    return between;
  }

  get origin() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** Forgets what was noted, and returns it. */
  taken() {
    return this.requests.splice(0);
  }

  stop() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }

  async #pass(request, response) {
    const body = await collected(request);
    const { method, url, rawHeaders } = request;
    this.requests.push({ method, url, rawHeaders, body });
    const [hostname, port] = this.#target.split(":");
    const headers = { ...request.headers, host: this.#target };
    const answer = await new Promise((resolve, reject) => {
      const passed = http.request({ hostname, port, method, path: url, headers, agent: false }, async (answer) => {
        const { statusCode, rawHeaders } = answer;
        resolve({ status: statusCode, headers: rawHeaders, body: await collected(answer) });
      });
      passed.on("error", reject);
      passed.end(body);
    });
    const { status, headers: fields, body: bytes, cut } = { ...answer, ...this.spoil?.(url, answer) };
    response.writeHead(status, fields);
    if (cut === undefined) {
      response.end(bytes);
      return;
    }
    // Sends only the first bytes, and then nothing more.
    response.write(bytes.subarray(0, cut));
    setTimeout(() => response.destroy(), 300);
  }
}

async function collected(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}
