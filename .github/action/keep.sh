#!/usr/bin/env bash
# Decides what of this run is kept where others may read it. In a public repository everybody may download the
# artifacts, and a pull request of anybody's may restore the caches: event logs and sessions hold what the agent
# read and said, so there they are kept only if the inputs say true.
#
# Outputs: logs, sessions and texts, true or false; texts is whether the log of the job shows what event logs hold.
set -euo pipefail
. "${0%/*}/common.sh"

if [ "${MODE:-}" = work ]; then # the job that collects annotates, not each shard
  warn() { printf '%s: %s\n' "$1" "$2"; }
  notice() { warn "$@"; }
fi

case $PRIVATE in
true) public= ;;
false) public="This repository is public" ;;
*) public="It is not known whether this repository is public" ;;
esac
readers="anybody who can open a pull request can read its caches, and everybody its artifacts"
logs=$UPLOAD_LOGS sessions=$CACHE_SESSIONS workspaces=$CACHE_WORKSPACES

texts=$logs
[ -n "$public" ] || texts=${texts:-true}
if ! takes_artifacts; then
  if [ "$logs" = true ]; then
    warn "Logs are not uploaded" "The input upload-logs is true, but $GITHUB_SERVER_URL takes no artifacts from actions/upload-artifact v4 or later: the event logs stay on the runner, in $LOG_FOLDER."
  else
    echo "Event logs are not uploaded: $GITHUB_SERVER_URL takes no artifacts from actions/upload-artifact v4 or later."
  fi
  logs=false
fi

if [ -z "$public" ]; then
  logs=${logs:-true} sessions=${sessions:-true}
else
  chosen=
  [ "$logs" != true ] || chosen=upload-logs
  [ "$sessions" != true ] || chosen=${chosen:+$chosen, }cache-sessions
  [ "$workspaces" != true ] || chosen=${chosen:+$chosen, }cache-workspaces
  if [ -n "$chosen" ]; then
    warn "What the agent saw can be read by others" "$public: $readers. These inputs are true all the same: $chosen."
  fi
  if [ -z "$logs" ] || [ -z "$sessions" ]; then
    notice "Logs and sessions are not kept" "$public: $readers. To keep event logs or sessions all the same, set the inputs upload-logs or cache-sessions to true."
  fi
  logs=${logs:-false} sessions=${sessions:-false}
fi
{
  echo "logs=$logs"
  echo "sessions=$sessions"
  echo "texts=${texts:-false}"
} >>"$GITHUB_OUTPUT"
