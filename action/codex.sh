#!/usr/bin/env bash
# Installs the pinned Codex, unless it is there. Sessions are started by a login shell, whose PATH may be
# another than this one's: what counts is what the login shell finds, before and after.
set -euo pipefail
. "$GITHUB_ACTION_PATH/action/common.sh"

there() {
  local version
  version=$(bash -lc 'codex --version' 2>/dev/null) && grep -Fqx "codex-cli $CODEX_VERSION" <<<"$version"
}

if there; then
  echo "Codex $CODEX_VERSION is there."
  exit 0
fi
command -v npm >/dev/null ||
  refuse "No npm on this runner" "Codex $CODEX_VERSION is installed by npm: add a step with actions/setup-node before this action, or install Codex $CODEX_VERSION on the runner."
npm install --global --no-audit --no-fund --loglevel=error "@openai/codex@$CODEX_VERSION" ||
  refuse "Codex cannot be installed" "npm install --global @openai/codex@$CODEX_VERSION failed: its log is above. If the folder is not writable, add a step with actions/setup-node before this action; if the version does not exist, change codex-version."
there ||
  refuse "Codex is not on the login PATH" "npm installed Codex $CODEX_VERSION below $(npm prefix --global), but a login shell finds $(bash -lc 'command -v codex' 2>/dev/null || echo none) on its PATH $(bash -lc 'echo "$PATH"' 2>/dev/null): add that bin folder to PATH in a profile of the runner's user (~/.bash_profile), or name the program's absolute path in codex.command."
echo "Installed Codex $CODEX_VERSION"
