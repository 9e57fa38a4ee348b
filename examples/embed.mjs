// Embed a text from Node, without any package: node embed.mjs MODEL_ID [TEXT]
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [model, text = "A text to embed."] = process.argv.slice(2);
if (!model) {
  console.error("usage: node embed.mjs MODEL_ID [TEXT]");
  process.exit(2);
}

// The most usual places, the first that applies. `synapse doctor` prints the address; SYNAPSE_SOCKET overrides them.
function socketPath() {
  const { SYNAPSE_SOCKET, SYNAPSE_RUNTIME_DIR, SYNAPSE_HOME, XDG_RUNTIME_DIR } = process.env;
  if (SYNAPSE_SOCKET) return SYNAPSE_SOCKET;
  if (SYNAPSE_RUNTIME_DIR) return join(SYNAPSE_RUNTIME_DIR, "service.sock");
  if (SYNAPSE_HOME) return join(SYNAPSE_HOME, "run", "service.sock");
  if (process.platform === "darwin") {
    return join(homedir(), "Library", "Application Support", "Synapse", "run", "service.sock");
  }
  const session = XDG_RUNTIME_DIR && join(XDG_RUNTIME_DIR, "synapse", "service.sock");
  return session && existsSync(session) ? session : join(homedir(), ".local", "state", "synapse", "run", "service.sock");
}

const path = socketPath();
const socket = connect(path);
const waiting = new Map(); // id of a request -> what to do with its answer
let lastId = 0;

function fail(error) {
  console.error(error.code ? `${error.code}: ${error.message}` : String(error));
  process.exit(1);
}

function call(method, params) {
  return new Promise((resolve, reject) => {
    waiting.set(++lastId, { resolve, reject });
    socket.write(JSON.stringify({ jsonrpc: "2.0", id: lastId, method, params }) + "\n");
  });
}

socket.on("error", (error) => {
  const absent = error.code === "ENOENT" || error.code === "ECONNREFUSED";
  fail(absent ? `The Synapse service is not running: nobody listens at ${path}` : error);
});
socket.on("close", () => fail(new Error("the service closed the connection")));

// Answers may come in any order; the id says which request each belongs to.
createInterface({ input: socket }).on("line", (line) => {
  const { id, result, error } = JSON.parse(line);
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  // A request can be refused before it is looked at, or inside its result: by exactly these two members.
  const refused = result && result.error && "module_generation" in result && Object.keys(result).length === 2;
  if (error) reject(error.data);
  else if (refused) reject(result.error);
  else resolve(result);
});

try {
  await call("service.hello", { client: { name: "example-node", version: "1" } });
  const answer = await call("embed.query", { model, text, deadline_ms: 30000, vector_encoding: "base64" });
  // base64 of little-endian float32; copied, because a typed array must begin at a multiple of four.
  const bytes = Uint8Array.from(Buffer.from(answer.vectors[0].vector, "base64"));
  const vector = new Float32Array(bytes.buffer);
  const shown = [...vector.slice(0, 4)].map((value) => value.toFixed(6)).join(" ");
  console.log(`numbers: ${shown} ... (${vector.length} in all)`);
  console.log(`fingerprint: ${answer.fingerprint}`);
  process.exit(0);
} catch (error) {
  fail(error);
}
