// Copies a path to a new entry, if the run may. GitHub lets only some events write the caches of the default branch,
// unless cache-mode says otherwise, and keeps what the run of a pull request saves for that pull request. A save that
// fails is only a warning.
const fs = require('fs')
const path = require('path')
const writers = ['push', 'schedule', 'workflow_dispatch', 'repository_dispatch', 'delete', 'registry_package', 'page_build']
const [, pull] = (process.env.GITHUB_REF || '').match(/^refs\/pull\/(\d+)\/merge$/) || []
const mode = process.env.ACT_CACHE_MODE || (pull || writers.includes(process.env.GITHUB_EVENT_NAME) ? 'write' : 'read')
const entry = path.join(process.env.ACT_STORE, pull ? `of-pull-${pull}` : '', process.env.INPUT_KEY)
const from = path.resolve(process.env.INPUT_PATH.trim())
if (fs.existsSync(entry)) throw new Error(`${entry} is there already`)
if (mode === 'read') {
  console.log('::warning::Cache reservation failed: cache write denied: token has no writable scopes')
} else if (!fs.existsSync(from)) {
  console.log('::warning::Path Validation Error: Path(s) specified in the action for caching do(es) not exist, hence no cache is being saved.')
} else {
  fs.cpSync(from, entry, { recursive: true })
  console.log(`saved ${process.env.INPUT_KEY}`)
}
