# Runs inside the sandbox of the agent, in its workspace, and prints the numbers of the
# submodules that have another commit than that of the checkout, or files that differ from
# it, counted from 1.
#
# Arguments: the path of git, and for each submodule its path and its commit.
set -u
git=$1
shift

g() { "$git" -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@" 2>/dev/null; }

number=0
while [ $# -gt 0 ]; do
  path=$1 commit=$2
  shift 2
  number=$((number + 1))
  if [ "$(g -C "$path" rev-parse --verify -q HEAD)" != "$commit" ] || [ -n "$(g -C "$path" status --porcelain --ignore-submodules=all | head -n 1)" ]; then
    echo "$number"
  fi
done
