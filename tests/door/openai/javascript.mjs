// What clients of JavaScript do at the endpoint: node javascript.mjs FOLDER ADDRESS WHAT prints what came, as JSON.
// FOLDER has their packages in its node_modules.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, baseURL, what] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(folder), "index.js"));
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const { z } = await load("zod");
const DOG = z.object({ name: z.string(), age: z.number() });
const ASKED = "How warm is it in Busan?";
const weather = async ({ city }) => `sunny 31C in ${city}`;

async function aiSdk() {
  const sdk = await load("ai");
  const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
  const provider = createOpenAICompatible({ name: "gieok", baseURL, apiKey: "none", supportsStructuredOutputs: true });
  return { ...sdk, model: provider("gieok") };
}

const does = {
  async generateObject() {
    const { generateObject, model } = await aiSdk();
    return (await generateObject({ model, schema: DOG, prompt: "Which dog?", maxRetries: 0 })).object;
  },
  async streamObject() {
    const { streamObject, model } = await aiSdk();
    const made = streamObject({ model, schema: DOG, prompt: "Which dog?", maxRetries: 0 });
    for await (const _ of made.partialObjectStream);
    return await made.object;
  },
  async generateText() {
    const { generateText, tool, stepCountIs, model } = await aiSdk();
    const tools = { weather: tool({ inputSchema: z.object({ city: z.string() }), execute: weather }) };
    const made = await generateText({ model, tools, prompt: ASKED, stopWhen: stepCountIs(5), maxRetries: 0 });
    return { text: made.text, steps: made.steps.length };
  },
  async runTools() {
    const { default: OpenAI } = await load("openai");
    const parameters = { type: "object", properties: { city: { type: "string" } } };
    const tools = [{ type: "function", function: { function: weather, name: "weather", parse: JSON.parse, parameters } }];
    const messages = [{ role: "user", content: ASKED }];
    const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
    const text = await client.chat.completions.runTools({ model: "gieok", messages, tools, stream: true }).finalContent();
    return { text };
  },
};

console.log(JSON.stringify(await does[what]()));
