#!/bin/sh
# Refuses what only the Action can know to be wrong, before anything is touched, and says where things are
# kept. The values of symphony's own flags are left to symphony. POSIX sh, and first of all: this also has to
# speak where there is no bash.
set -eu
. "${0%/*}/common.sh"

boolean() { # input, value
  case $2 in
  true | false) ;;
  *) refuse "Invalid input $1" "The input $1 is \"$2\": write true or false." ;;
  esac
}

[ "$(lower "$RUNNER_OS")" != windows ] ||
  refuse "Windows is not supported" "Symphony runs on Linux and macOS: set runs-on to ubuntu-latest or macos-latest."
command -v bash >/dev/null ||
  refuse "No bash on this runner" "Agents and hooks are started by bash: install it on the runner, or in the job's container image."

# What only .github/fleet/action.yml has: its mode, and what the jobs of a fleet say to each other.
number() { # input, value, lowest, highest
  case $2 in
  '' | *[!0-9]* | ??????*) ;;
  *) [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ] || return 0 ;;
  esac
  refuse "Invalid input $1" "The input $1 is \"$2\": write a number from $3 to $4."
}
MODE=${MODE:-}
case $MODE in
'') SHARD='' ;;
plan | work | collect)
  ATTEMPT=${ATTEMPT:-$GITHUB_RUN_ATTEMPT}
  TIMEOUT_MINUTES=${TIMEOUT_MINUTES:-60}
  number attempt "$ATTEMPT" 1 99999
  number timeout-minutes "$TIMEOUT_MINUTES" 5 9000
  case $MODE$SHARD in
  work) refuse "This is no shard" "The input shard is empty: the plan had no work, or this server starts a job for an empty matrix. Start the job only if the output work of the plan is true." ;;
  work*) number shard "$SHARD" 1 256 ;;
  esac
  case ${EXCHANGE_BY:-} in
  artifacts | refs) ;;
  '') if takes_artifacts; then EXCHANGE_BY=artifacts; else EXCHANGE_BY=refs; fi ;;
  *) refuse "Invalid input exchange-by" "The input exchange-by is \"$EXCHANGE_BY\": write artifacts or refs." ;;
  esac
  reserve=$((TIMEOUT_MINUTES * 6)) # a tenth, in seconds: for what comes before and after the sessions
  [ "$reserve" -ge 60 ] || reserve=60
  [ "$reserve" -le 300 ] || reserve=300
  # What sessions need. An output of a job is lost if it looks like a secret: then everything is installed.
  case $SETUP in
  'true '* | 'false '*) codex=${SETUP%% *} rest=${SETUP#* } ;;
  *) codex=true rest='true  true ' ;;
  esac
  sandbox=${rest%% *} rest=${rest#* }
  private=${rest%% *} rest=${rest#* }
  prepares=${rest%% *} plan=
  case $rest in *' '*) plan=${rest#* } ;; esac # the name of a plan that is a reference
  ;;
*) refuse "Invalid input mode" "The input mode is \"$MODE\": write plan, work or collect." ;;
esac

# An empty input, as of a workflow_dispatch without a value, is the default of action.yml.
WORKFLOW=${WORKFLOW:-WORKFLOW.md}
STATE=${STATE:-branch}
DRY_RUN=${DRY_RUN:-false}
CODEX_VERSION=${CODEX_VERSION:-0.169.0}
CACHE_WORKSPACES=${CACHE_WORKSPACES:-false}
COMMAND=${COMMAND:-}
[ "$COMMAND" != tick ] || COMMAND= # the choices of a workflow_dispatch have none that is empty
case $STATE in
branch | cache) ;;
*) refuse "Invalid input state" "The input state is \"$STATE\": write branch or cache." ;;
esac
[ "$STATE" = branch ] || [ -z "$STATE_BRANCH" ] ||
  refuse "Contradicting inputs" "state-branch is \"$STATE_BRANCH\" although state is cache: leave one of them out."
boolean dry-run "$DRY_RUN"
if [ "$STATE$DRY_RUN" = cachefalse ] && of_pull_request; then
  refuse "The cache keeps no state" "The input state is cache, but no other run can read what $GITHUB_EVENT_NAME saves for its pull request. Set state to branch, or start the action by schedule or workflow_dispatch, as the job wake of its sample does for other events."
fi
boolean cache-workspaces "$CACHE_WORKSPACES"
[ -z "$CACHE_SESSIONS" ] || boolean cache-sessions "$CACHE_SESSIONS"
[ -z "$UPLOAD_LOGS" ] || boolean upload-logs "$UPLOAD_LOGS"
case $CODEX_VERSION in
*[!0-9A-Za-z.-]*) version= ;; # a line end would make two lines, of which one could be right
*) version=$CODEX_VERSION ;;
esac
printf '%s\n' "$version" | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?' ||
  refuse "Invalid input codex-version" "The input codex-version is \"$CODEX_VERSION\": write a full version such as 0.169.0."
# The cache takes its paths for patterns, and knows no "..".
case /$WORKFLOW/ in
// | /[~#!]* | */../* | *[[:cntrl:]]* | *[]*?[]*)
  refuse "Invalid input workflow" "The input workflow is \"$WORKFLOW\": write the path of a WORKFLOW.md in the checkout, without .. and signs that have a meaning in patterns."
  ;;
esac
case $STATE_BRANCH in
*[[:cntrl:]]*) refuse "Invalid input state-branch" "The input state-branch is \"$STATE_BRANCH\": write the name of a branch." ;;
esac

path=${WORKFLOW#./}
case $path in
*/*) folder=${path%/*}/.symphony ;;
*) folder=.symphony ;;
esac
case $STATE in
branch) where=branch:${STATE_BRANCH:-symphony-state} ;;
cache) where=cache:$folder/state.json ;;
esac
rm -rf -- "$folder/built" # what the checkout has there is no binary of the cache, if that has none
scratch=$(mktemp -d "$RUNNER_TEMP/symphony.XXXXXX")
unique=$GITHUB_RUN_ID-$GITHUB_RUN_ATTEMPT-${scratch##*.} # also when one job uses the Action twice
# Of the path, its checksum tells; the readable part is for people who look through the caches.
name=$(printf '%s' "$path" | LC_ALL=C tr -c 'A-Za-z0-9._-' '-' | cut -c 1-100)-$(printf '%s' "$path" | cksum | cut -d ' ' -f 1)-
family=$name$RUNNER_OS-
# What other steps read of the inputs, so that none of them meets an empty one.
line_of() { printf '%s' "$1" | LC_ALL=C tr '\r\n' '  '; } # it may be anything, and is left to symphony to refuse
put() { printf '%s=%s\n' "$1" "$2"; } # echo of some shells makes \n a line end
{
  put workflow "$WORKFLOW"
  put kind "$STATE"
  put max-issues "$(line_of "${MAX_ISSUES:-0}")"
  put deadline "$(line_of "${DEADLINE:-0s}")"
  put fail-on "$(line_of "${FAIL_ON:-never}")"
  put command "$(line_of "$COMMAND")"
  put issue "$(line_of "${ISSUE:-}")"
  put dry-run "$DRY_RUN"
  put codex-version "$CODEX_VERSION"
  put cache-workspaces "$CACHE_WORKSPACES"
  put system "$(lower "$RUNNER_OS")"
  put state "$where"
  put folder "$folder"
  put scratch "$scratch"
  put family "$family"
  put key "$family$unique"
  put artifact "symphony-${SHARD:+shard-$SHARD-}$unique"
  if [ -n "$MODE" ]; then
    put attempt "$ATTEMPT"
    put shard "$SHARD"
    put shards "$(line_of "${SHARDS:-16}")"
    put shard-slots "$(line_of "${SHARD_SLOTS:-2}")"
    put runs-on "$(line_of "${RUNS_ON:-ubuntu-24.04}")"
    put timeout-minutes "$TIMEOUT_MINUTES"
    put shard-deadline "$((TIMEOUT_MINUTES * 60 - reserve))s"
    put codex "$codex"
    put sandbox "$sandbox"
    put private "$(line_of "$private")"
    put prepares "$(line_of "$prepares")"
    put plan "$(line_of "$plan")"
    put exchange "$scratch/exchange"
    put exchange-by "$EXCHANGE_BY"
    put threads "$name" # which shards on every system restore
  fi
} >>"$GITHUB_OUTPUT"
