// Copies paths to an artifact.
const fs = require('fs')
const path = require('path')
const artifact = path.join(process.env.ACT_STORE, process.env.INPUT_NAME)
for (const from of process.env.INPUT_PATH.split('\n').map((line) => line.trim()).filter(Boolean)) {
  if (fs.existsSync(from)) fs.cpSync(from, path.join(artifact, path.basename(from)), { recursive: true })
}
