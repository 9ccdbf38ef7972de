// Copies the entry of the key, or the newest one whose key begins with a restore key, to its path; lookup-only, it says
// only whether the very key is there. The run of a pull request looks among its own entries first.
const fs = require('fs')
const path = require('path')
const [, pull] = (process.env.GITHUB_REF || '').match(/^refs\/pull\/(\d+)\/merge$/) || []
const prefixes = (process.env['INPUT_RESTORE-KEYS'] || '').split('\n').filter(Boolean)
const find = (store) => {
  const age = (key) => fs.statSync(path.join(store, key)).mtimeMs
  const keys = fs.existsSync(store) ? fs.readdirSync(store) : []
  const newest = keys.filter((key) => prefixes.some((p) => key.startsWith(p))).sort((a, b) => age(b) - age(a))[0]
  const key = keys.find((key) => key === process.env.INPUT_KEY) || newest
  return key && { key, folder: path.join(store, key) }
}
const store = process.env.ACT_STORE
const found = (pull && find(path.join(store, `of-pull-${pull}`))) || find(store)
if (found && process.env['INPUT_LOOKUP-ONLY'] !== 'true') {
  fs.cpSync(found.folder, path.resolve(process.env.INPUT_PATH.trim()), { recursive: true })
}
if (found) fs.appendFileSync(process.env.GITHUB_OUTPUT, `cache-hit=${found.key === process.env.INPUT_KEY}\n`)
console.log(found ? `restored ${found.key}` : 'no cache')
