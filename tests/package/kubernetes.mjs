// Validates objects of Kubernetes by the schemas of the package kubernetes-models. Prints each mistake.
// usage: node kubernetes.mjs FOLDER <OBJECTS, an array in JSON
import { readFileSync } from "node:fs";

const [folder] = process.argv.slice(2);
let mistakes = 0;

// The validator of an object, such as IoK8sApiAppsV1Deployment.
async function validatorOf({ apiVersion, kind }) {
  const words = (apiVersion.includes("/") ? apiVersion : `core/${apiVersion}`).split("/");
  const name = [...words, kind].map((word) => word[0].toUpperCase() + word.slice(1)).join("");
  return (await import(`${folder}/node_modules/kubernetes-models/_schemas/IoK8sApi${name}.js`)).validate;
}

// The value, in a proxy that records which members a validator reads. The schemas accept members that they do not
// know, and a member that no validator reads is such a one.
function recorded(value, path, unread) {
  if (typeof value !== "object" || value === null) return value;
  const inner = new Map();
  for (const name of Object.keys(value)) {
    inner.set(name, recorded(value[name], `${path}/${name}`, unread));
    unread.add(`${path}/${name}`);
  }
  return new Proxy(value, { get(target, name) {
    unread.delete(`${path}/${String(name)}`);
    return inner.has(name) ? inner.get(name) : target[name];
  } });
}

for (const object of JSON.parse(readFileSync(0))) {
  const unread = new Set();
  const validate = await validatorOf(object);
  const name = `${object.kind} ${object.metadata?.name}`;
  const wrong = validate(recorded(object, "", unread)) ? [] : validate.errors;
  for (const error of wrong) console.log(`${name}: ${error.instancePath} ${error.keyword} ${JSON.stringify(error.params)}`);
  for (const path of unread) console.log(`${name}: ${path} is unknown`);
  mistakes += wrong.length + unread.size;
}
process.exit(mistakes === 0 ? 0 : 1);
