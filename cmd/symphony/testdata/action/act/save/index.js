// Copies a path to a new entry.
const fs = require('fs')
const path = require('path')
const entry = path.join(process.env.ACT_STORE, process.env.INPUT_KEY)
if (fs.existsSync(entry)) throw new Error(`${entry} is there already`)
fs.cpSync(path.resolve(process.env.INPUT_PATH.trim()), entry, { recursive: true })
console.log(`saved ${process.env.INPUT_KEY}`)
