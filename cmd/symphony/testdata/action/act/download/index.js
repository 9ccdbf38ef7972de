// Copies an artifact, which has to be there, or all that match a pattern.
const fs = require('fs')
const path = require('path')
const { ACT_STORE: store, INPUT_NAME: name, INPUT_PATTERN: pattern, INPUT_PATH: to } = process.env
const merge = process.env['INPUT_MERGE-MULTIPLE'] === 'true'
const [begin, end] = (pattern || '').split('*')
const matches = (entry) => (end === undefined ? entry === begin : entry.startsWith(begin) && entry.endsWith(end))
if (name && !fs.existsSync(path.join(store, name))) throw new Error(`Unable to download artifact(s): Artifact not found for name: ${name}`)
for (const found of name ? [name] : fs.readdirSync(store).filter(matches)) {
  fs.cpSync(path.join(store, found), name || merge ? to : path.join(to, found), { recursive: true })
  console.log(`downloaded ${found}`)
}
