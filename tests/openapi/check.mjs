// node check.mjs DOCUMENT [ANSWERS]: see `check` beside it.
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const [documentFile, answersFile] = process.argv.slice(2);
const document = JSON.parse(readFileSync(documentFile, "utf8"));
const problems = [];

const linted = await new Validator().validate(structuredClone(document));
if (!linted.valid) problems.push(`not valid OpenAPI: ${JSON.stringify(linted.errors)}`);

const resolve = (node) => (node?.$ref ? node.$ref.slice(2).split("/").reduce((at, key) => at?.[key], document) : node);

// What the schema of OpenAPI itself does not ask for.
const ids = new Set();
const used = new Set();
const walk = (node) => {
  if (node === null || typeof node !== "object") return;
  if (typeof node.$ref === "string") {
    used.add(node.$ref);
    if (resolve(node) === undefined) problems.push(`${node.$ref} leads nowhere`);
  }
  Object.values(node).forEach(walk);
};
walk(document);
for (const [kind, entries] of Object.entries(document.components)) {
  if (kind === "securitySchemes") continue;
  for (const name of Object.keys(entries)) {
    if (!used.has(`#/components/${kind}/${name}`)) problems.push(`components.${kind}.${name} is not used`);
  }
}
const tags = new Set(document.tags.map((tag) => tag.name));
const operations = [];
for (const [path, item] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(item)) {
    if (method === "parameters") continue;
    const where = `${method.toUpperCase()} ${path}`;
    operations.push({ method: method.toUpperCase(), path, operation });
    if (!operation.operationId || ids.has(operation.operationId)) problems.push(`${where}: operationId missing or used twice`);
    ids.add(operation.operationId);
    if (!operation.summary?.endsWith(".")) problems.push(`${where}: no summary that is a sentence`);
    if (!operation.tags?.every((tag) => tags.has(tag))) problems.push(`${where}: unknown tag`);
    const declared = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(resolve).filter((p) => p.in === "path");
    const names = [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]);
    if (names.join() !== declared.map((p) => p.name).join()) problems.push(`${where}: path parameters differ`);
  }
}

if (answersFile) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema({ $id: "doc", ...document });
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const lines = readFileSync(answersFile, "utf8").split("\n").filter(Boolean);
  for (const line of lines) {
    const answer = JSON.parse(line);
    const where = `${answer.method} ${answer.path} → ${answer.status}`;
    const path = answer.path.split("?")[0];
    const matches = operations.filter(({ method, path: pattern }) =>
      method === answer.method && new RegExp(`^${escape(pattern).replace(/\\\{\w+\\\}/g, "[^/]+")}$`).test(path));
    const found = matches.find((m) => m.path === path) ?? matches[0];
    if (!found) { problems.push(`${where}: no such operation`); continue; }
    const response = resolve(found.operation.responses[answer.status]);
    if (!response) { problems.push(`${where}: no such status`); continue; }
    const type = (answer.type ?? "").split(";")[0];
    const content = response.content?.[type];
    if (!response.content && !answer.body) continue;
    if (!content) { problems.push(`${where}: no content of type ${type}`); continue; }
    if (!type.endsWith("json")) continue;
    const full = JSON.stringify(content.schema).replaceAll('"#/', '"doc#/');
    const validate = ajv.compile(JSON.parse(full));
    if (!validate(JSON.parse(answer.body))) problems.push(`${where}: ${ajv.errorsText(validate.errors)}`);
  }
  console.log(`${lines.length} answers looked at`);
}

for (const problem of problems) console.error(problem);
console.log(problems.length === 0 ? `${operations.length} operations, all well` : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
