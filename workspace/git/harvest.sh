# Runs inside the sandbox of the agent, in its workspace, and prints lines and a pack:
#
#	symphony-pack HEAD TIP UNTAKEN
#	WHY PATH
#
# TIP is HEAD, or a commit on it with what is not committed. UNTAKEN is all if that has all
# of it, or the number of paths that git cannot take; the first 20 of them follow, each with
# one of the words large, repository and unreadable. The pack has what TIP needs and BASE
# does not have. There is none if both are one commit. Neither the agent's index nor its
# objects are touched, and a lock it left does not matter.
#
# Arguments: BASE, the path of git, the most files and folders that a commit may have,
# "all", or "commits" to take only what is committed, the folders that were left out of the
# checkout, and pathspecs that leave out the files that are checked out, if not all are. The
# caller sets TMPDIR.
set -eu
umask 077
base=$1 git=$2 most=$3 what=$4 left=$5
shift 5

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

# A commit of a few objects can have any number of names, and git reads them all.
if [ "$(g ls-tree -r -t --name-only "$head" | head -n $((most + 1)) | wc -l)" -gt "$most" ]; then
  echo "the commit at HEAD has more than $most files and folders: commit fewer" >&2
  exit 3
fi

# make_index makes the index of the commit at HEAD.
make_index() {
  rm -f "$out/index" "$out/index.lock"
  g read-tree "$head"
  # What is in the folder of a submodule, and which commit, is not work.
  g ls-files -s -z | tr '\0\n' '\n\0' | sed -n 's/^160000 [0-9a-f]* 0	//p' | tr '\n\0' '\0\n' | g update-index -z --skip-worktree --stdin
  if [ $# -gt 0 ]; then # what was not checked out is not deleted
    g ls-files -z --deleted -- . "$@" >"$out/absent"
    g update-index -z --skip-worktree --stdin <"$out/absent"
  fi
}

# limited runs git so that it writes no file of more than 32 MiB, or of twice the index if that
# is more: the index of some 300,000 files has 32 MiB itself.
limited() (
  blocks=$(($(wc -c <"$out/index") / 256)) # of 512 bytes
  [ "$blocks" -gt 65536 ] || blocks=65536
  ulimit -f "$blocks"
  g "$@"
)

# leave_nested takes repositories inside the work tree out of the index, which git adds as
# submodules if they have commits, and fails if there is none.
leave_nested() {
  g diff-index --cached --no-renames -z "$head" | tr '\0\n' '\n\0' | sed -n '/^:000000 160000 /{n;p;}' | tr '\n\0' '\0\n' >"$out/nested"
  [ -s "$out/nested" ] && g update-index -z --force-remove --stdin <"$out/nested"
}

# differing prints the paths at which the work tree differs from the index, less those that
# pathspecs leave out.
differing() {
  # shellcheck disable=SC2086 # several words, without a pattern
  g -c core.quotePath=false ls-files --others --modified --exclude-standard $format -- $inside "$@" 2>/dev/null
}

# take FIRST LAST takes the paths in these lines of the list. If git fails on one of them,
# it takes none, so they are halved until that one stands alone. At most 200 may fail.
take() {
  [ "$(wc -l <"$out/failed")" -lt 200 ] || return 0
  if sed -n "$1,$2s,/*\$,,p" "$out/list" | tr '\n\0' '\0\n' | limited update-index --add --remove --replace -z --stdin 2>/dev/null; then
    return 0
  fi
  rm -f "$out/index.lock"
  if [ "$1" -eq "$2" ]; then
    echo "$1" >>"$out/failed"
    return 0
  fi
  take "$1" $((($1 + $2) / 2))
  take $((($1 + $2) / 2 + 1)) "$2"
}

# take_each takes every path that git can take. Large files, on which git fails late, are
# tried one by one.
take_each() {
  format=-z
  find . -path ./.git -prune -o -type f -size +65536 -print | head -n 200 | sed 's,^\./,,' >"$out/large"
  set --
  while IFS= read -r path; do
    set -- "$@" ":(exclude,literal)$path"
  done <"$out/large"
  differing | tr '\0\n' '\n\0' | sort >"$out/all"
  differing "$@" | tr '\0\n' '\n\0' | sort >"$out/small"
  format=
  comm -23 "$out/all" "$out/small" >"$out/list"
  large=$(wc -l <"$out/list") last=$(wc -l <"$out/all") n=1
  cat "$out/small" >>"$out/list"
  : >"$out/failed"
  while [ "$n" -le "$large" ]; do
    take "$n" "$n"
    n=$((n + 1))
  done
  [ "$n" -gt "$last" ] || take "$n" "$last"
}

# reasons prints why git cannot take each path of the list.
reasons() {
  while IFS= read -r path; do
    why=unreadable
    case $path in
    */ | */\") why=repository ;;
    *) [ -z "$(find "./$path" -prune -type f -size +65536 2>/dev/null)" ] || why=large ;;
    esac
    printf '%s %s\n' "$why" "$path"
  done
}

tip=$head format=
: >"$out/untaken"
: >"$out/closed"
if [ "$what" = all ]; then
  # shellcheck disable=SC2046,SC2086 # several words, without a pattern
  inside=$(outside_read_only $left)
  make_index "$@"
  status=0
  # shellcheck disable=SC2086
  limited add -A --ignore-errors -- $inside 2>"$out/said" || status=$?
  cat "$out/said" >&2
  sed -n "s/^warning: could not open directory '\(.*\)\/': .*/\1/p" "$out/said" >"$out/closed"
  if [ "$status" -gt 1 ]; then # 1 says that all the rest is taken
    make_index "$@"
    take_each
  fi
  if leave_nested && [ "$status" -eq 0 ]; then
    status=1
  fi
  same=$(g rev-parse "$head^{tree}")
  if ! tree=$(g write-tree); then # an object is missing
    make_index "$@"
    tree=$same status=2
  fi
  [ "$status" -eq 0 ] || differing >"$out/untaken"
  [ "$tree" = "$same" ] || tip=$(echo "Uncommitted work" | g commit-tree -p "$head" "$tree")
fi

cat "$out/closed" >>"$out/untaken"
untaken=$(($(wc -l <"$out/untaken"))) # without the blanks that some systems print
[ "$untaken" -gt 0 ] || untaken=all
printf 'symphony-pack %s %s %s\n' "$head" "$tip" "$untaken"
head -n 20 "$out/untaken" | reasons | cut -b 1-300
[ "$tip" = "$base" ] || printf '%s\n^%s\n' "$tip" "$base" | g pack-objects --revs --thin --delta-base-offset -q --stdout
