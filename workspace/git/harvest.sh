# Runs inside the sandbox of the agent, in its workspace, and prints one line and a pack:
#
#	symphony-pack HEAD TIP TAKEN
#
# TIP is HEAD, or a commit on it with what is not committed; TAKEN is all, some or none of
# that. The pack has what TIP needs and BASE does not have. There is none if both are one
# commit. Neither the agent's index nor its objects are touched, and a lock it left does
# not matter.
#
# Arguments: BASE, the path of git, "all", or "commits" to take only what is committed, the
# folders that were left out of the checkout, and pathspecs that leave out the files that
# are checked out, if not all are. The caller sets TMPDIR.
set -eu
umask 077
base=$1 git=$2 what=$3 left=$4
shift 4

# git waits for ever for a named pipe in the place of a file. In .git, besides the hooks,
# it makes only files and folders; in the work tree it opens these.
if [ ! -d .git ] || [ -L .git ]; then
  odd=./.git
else
  odd=$(find . -path ./.git/hooks -prune -o \( -path './.git/*' ! -type f ! -type d ! -type s \) -print -o -type p \
    \( -path '*/.git/*' -o -name .gitignore -o -name .gitattributes -o -name .gitmodules \) -print 2>/dev/null | head -n 1)
fi
if [ -n "$odd" ]; then
  echo "${odd#./} is neither a file nor a folder of a repository: remove it" >&2
  exit 3
fi

out=$TMPDIR/symphony-out
rm -rf "$out"
trap 'rm -rf "$out"' EXIT
mkdir -p "$out/objects/info" "$out/objects/pack"
printf '%s\n' "$PWD/.git/objects" >"$out/objects/info/alternates"
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD" GIT_OBJECT_DIRECTORY="$out/objects" GIT_INDEX_FILE="$out/index"
export GIT_NO_REPLACE_OBJECTS=1 GIT_NO_LAZY_FETCH=1 GIT_OPTIONAL_LOCKS=0

g() {
  "$git" -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.untrackedCache=false -c core.bare=false \
    -c core.sparseCheckout=false -c gc.auto=0 -c maintenance.auto=false -c advice.addEmbeddedRepo=false \
    -c user.name=Symphony -c user.email=symphony@localhost "$@"
}

head=$(g rev-parse --verify --quiet 'HEAD^{commit}') || {
  echo "there is no commit at HEAD" >&2
  exit 3
}
tip=$head
taken=all
status=0
if [ "$what" = all ]; then
  g read-tree "$head"
  # What is in the folder of a submodule, and which commit, is not work.
  g ls-files -s -z | tr '\0\n' '\n\0' | sed -n 's/^160000 [0-9a-f]* 0	//p' | tr '\n\0' '\0\n' | g update-index -z --skip-worktree --stdin
  if [ $# -gt 0 ]; then # what was not checked out is not deleted
    g ls-files -z --deleted -- . "$@" >"$out/absent"
    g update-index -z --skip-worktree --stdin <"$out/absent"
  fi
  (
    ulimit -f 65536 # blocks of 512 bytes: no file of more than 32 MiB
    # shellcheck disable=SC2046,SC2086 # several words, without a pattern
    g add -A --ignore-errors -- $(outside_read_only $left) >&2
  ) || status=$?
fi
case $status in
0) ;;
1) taken=some ;; # a nested repository without a commit, for example
*) taken=none ;;
esac
if [ "$what" = all ] && [ "$taken" != none ]; then
  if tree=$(g write-tree); then
    [ "$tree" = "$(g rev-parse "$head^{tree}")" ] || tip=$(echo "Uncommitted work" | g commit-tree -p "$head" "$tree")
  else
    taken=none
  fi
fi
printf 'symphony-pack %s %s %s\n' "$head" "$tip" "$taken"
[ "$tip" = "$base" ] || printf '%s\n^%s\n' "$tip" "$base" | g pack-objects --revs --thin --delta-base-offset -q --stdout
