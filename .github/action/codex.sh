#!/usr/bin/env bash
# Installs Codex, unless it is there. Sessions are started by a login shell, whose PATH may be another than this
# one's: what counts is what the login shell finds, before and after.
#
#   codex.sh start    begins to fetch it in the background, while other steps do what does not need it
#   codex.sh finish   waits for that, and sees to it that the login shell finds it
#
# Output of finish: folder, which has to come first on PATH; empty when Codex is found without it.
set -euo pipefail
. "${0%/*}/common.sh"

there() { # folder that comes first on PATH, or nothing
  local version
  version=$(PATH=${1:+$1:}$PATH bash -lc 'codex --version' 2>/dev/null) && grep -Fqx "codex-cli $CODEX_VERSION" <<<"$version"
}

# Not below RUNNER_TEMP, from which a session cannot read, nor where a session can write. Where the tool cache is
# kept from job to job, as on a machine of one's own, Codex is fetched once.
tools=${RUNNER_TOOL_CACHE:-}
if [ -z "$tools" ] || ! mkdir -p "$tools" 2>/dev/null || [ ! -w "$tools" ]; then
  tools=${XDG_CACHE_HOME:-$HOME/.cache}
fi
target=$(platform)
target=${target/_amd64/-x64}
target=${target/_arm64/-arm64}
folder=$tools/symphony-codex/$CODEX_VERSION-$target

fetch_codex() {
  [ -n "$target" ] ||
    refuse "No Codex for this runner" "There is no Codex for $RUNNER_OS on $RUNNER_ARCH: set runs-on to another runner, or install Codex $CODEX_VERSION on this one."
  { [ -n "${NPM_CONFIG_REGISTRY:-${npm_config_registry:-}}" ] && command -v curl >/dev/null; } || command -v npm >/dev/null ||
    refuse "No npm on this runner" "npm says where Codex $CODEX_VERSION is fetched from: add a step with actions/setup-node before this action, or install Codex $CODEX_VERSION on the runner."
  bash "${0%/*}/fetch-codex.sh" "$CODEX_VERSION" "$target" "$folder"
}

case $1 in
start)
  if there ""; then
    echo "Codex $CODEX_VERSION is there."
    touch "$SCRATCH/codex-there"
  elif [ ! -x "$folder/bin/codex" ]; then
    # By another name at last: what is half written says nothing. The end of the step's terminal is not its end:
    # it has a process group of its own, because node does not stay deaf to the signal.
    : >"$SCRATCH/codex-log"
    trap '' HUP
    set -m
    (
      code=0
      (fetch_codex) || code=$?
      echo "$code" >"$SCRATCH/codex-code.new"
      mv "$SCRATCH/codex-code.new" "$SCRATCH/codex-code"
    ) >"$SCRATCH/codex-log" 2>&1 </dev/null &
    echo "$!" >"$SCRATCH/codex-started"
  fi
  ;;
finish)
  if [ -e "$SCRATCH/codex-there" ]; then
    exit 0
  fi
  if [ -e "$SCRATCH/codex-started" ]; then
    for ((tenths = 0; tenths < 3000; tenths++)); do
      if [ -e "$SCRATCH/codex-code" ] || ! kill -0 "$(cat "$SCRATCH/codex-started")" 2>/dev/null; then
        break # it has ended, or was ended with its step
      fi
      sleep 0.1
    done
    cat "$SCRATCH/codex-log"
    [ ! -s "$SCRATCH/codex-code" ] || [ "$(cat "$SCRATCH/codex-code")" = 0 ] || exit "$(cat "$SCRATCH/codex-code")"
  fi
  [ -x "$folder/bin/codex" ] || fetch_codex # also where processes do not outlive their step
  if there "$folder/bin"; then
    echo "folder=$folder/bin" >>"$GITHUB_OUTPUT"
  else
    # The profile replaces PATH, as Debian's does: put a link into a folder of PATH that we may write to.
    IFS=: read -ra places <<<"$(bash -lc 'echo "$PATH"' 2>/dev/null)"
    for place in ${places[@]+"${places[@]}"}; do
      if [ "$place/codex" -ef "$folder/bin/codex" ]; then
        break # another job of this machine has just put it there
      elif [ -d "$place" ] && [ -w "$place" ] && [ ! -e "$place/codex" ]; then
        ln -sf "$folder/bin/codex" "$place/codex" || true # that job may be doing it now
        break
      fi
    done
    there "" ||
      refuse "Codex is not on the login PATH" "Codex $CODEX_VERSION is in $folder/bin, but a login shell finds $(bash -lc 'command -v codex' 2>/dev/null || echo none) on its PATH $(bash -lc 'echo "$PATH"' 2>/dev/null): add that folder to PATH in a profile of the runner's user (~/.bash_profile), or name the program's absolute path in codex.command."
  fi
  echo "Installed Codex $CODEX_VERSION in $folder"
  ;;
esac
