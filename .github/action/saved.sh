#!/usr/bin/env bash
# Says what the cache did not keep: a failed save is only a warning of actions/cache, whatever was lost by it.
# GitHub lets few events write the caches of the default branch, and keeps what the run of a pull request saves for
# that pull request. Of each kind a lookup of what was saved says whether it is there: its outcome, skipped where
# nothing was saved, and its output cache-hit.
#
#   saved.sh try    refuses to begin where a trial was not kept
#   saved.sh tell   warns of threads and workspaces that were not kept, and fails without the state
set -euo pipefail
. "${0%/*}/common.sh"

lost() { # outcome, hit
  [ -n "$1" ] && [ "$1" != skipped ] && { [ "$2" != true ] || of_pull_request; }
}
if of_pull_request; then
  why="this run belongs to a pull request, whose caches no other run can read"
else
  case $GITHUB_EVENT_NAME in
  schedule | workflow_dispatch | repository_dispatch | push) why="the log of the step that saves it says why" ;;
  *) why="GitHub lets a run that $GITHUB_EVENT_NAME started read the caches of the default branch, and not write them" ;;
  esac
fi
advice="start the action by schedule or workflow_dispatch, as the job wake of its sample does for other events"

case $1 in
try)
  lost "$TRIAL" "$TRIAL_HIT" || exit 0
  refuse "The cache keeps no state" "The input state is cache, but what was saved for a trial is not there: $why. Nothing was started. Set the input state to branch, or $advice."
  ;;
tell)
  if lost "$SESSIONS" "$SESSIONS_HIT"; then
    warn "Threads are not kept" "The sessions of this run begin new threads when they go on: $why. To keep threads, $advice, or set the input cache-sessions to false."
  fi
  if lost "$WORKSPACES" "$WORKSPACES_HIT"; then
    warn "Workspaces are not kept" "The next run makes the workspaces of this one again: $why. To keep them, $advice, or set the input cache-workspaces to false."
  fi
  if lost "$STATE" "$STATE_HIT"; then
    printf '::error title=The state was not saved::%s\n' "$(one_line "The next run knows nothing of what this one did: $why. Set the input state to branch, or $advice.")"
    exit 1
  fi
  ;;
esac
