// Copies the newest entry whose key begins with a restore key to its path.
const fs = require('fs')
const path = require('path')
const store = process.env.ACT_STORE
const prefixes = (process.env['INPUT_RESTORE-KEYS'] || '').split('\n').filter(Boolean)
const age = (key) => fs.statSync(path.join(store, key)).mtimeMs
const keys = fs.existsSync(store) ? fs.readdirSync(store).filter((key) => prefixes.some((p) => key.startsWith(p))) : []
const newest = keys.sort((a, b) => age(b) - age(a))[0]
if (newest) fs.cpSync(path.join(store, newest), path.resolve(process.env.INPUT_PATH.trim()), { recursive: true })
console.log(newest ? `restored ${newest}` : 'no cache')
