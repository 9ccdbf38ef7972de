// Copies the entry of the key, or the newest one whose key begins with a restore key, to its path.
const fs = require('fs')
const path = require('path')
const store = process.env.ACT_STORE
const prefixes = (process.env['INPUT_RESTORE-KEYS'] || '').split('\n').filter(Boolean)
const age = (key) => fs.statSync(path.join(store, key)).mtimeMs
const keys = fs.existsSync(store) ? fs.readdirSync(store) : []
const newest = keys.filter((key) => prefixes.some((p) => key.startsWith(p))).sort((a, b) => age(b) - age(a))[0]
const found = keys.find((key) => key === process.env.INPUT_KEY) || newest
if (found) fs.cpSync(path.join(store, found), path.resolve(process.env.INPUT_PATH.trim()), { recursive: true })
console.log(found ? `restored ${found}` : 'no cache')
