// Copies paths to an artifact: what is in a folder that is the only path, else the paths themselves.
const fs = require('fs')
const path = require('path')
const artifact = path.join(process.env.ACT_STORE, process.env.INPUT_NAME)
const paths = process.env.INPUT_PATH.split('\n').map((line) => line.trim()).filter(Boolean)
const found = paths.filter((from) => fs.existsSync(from))
if (found.length === 0 && process.env['INPUT_IF-NO-FILES-FOUND'] === 'error') throw new Error(`No files were found with the provided path: ${paths}`)
if (fs.existsSync(artifact) && process.env.INPUT_OVERWRITE !== 'true') throw new Error('an artifact with this name already exists on the workflow run')
fs.rmSync(artifact, { recursive: true, force: true })
for (const from of found) {
  const folder = paths.length === 1 && fs.statSync(from).isDirectory()
  fs.cpSync(from, folder ? artifact : path.join(artifact, path.basename(from)), { recursive: true })
}
