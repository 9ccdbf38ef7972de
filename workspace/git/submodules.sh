# Runs inside the sandbox of the agent, in its workspace, when the files of the commit are
# there. Empties the folders of all submodules, and fills those that are given.
#
# Arguments: the path of git, and for each submodule, those inside another one after it, its
# path and what is written into its .git.
set -eu
git=$1
shift

g() { "$git" -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }

# Empties the folders of the submodules of a repository. Links go, not what they lead to.
empty() {
  (
    cd -- "$1"
    g ls-files -s -z | tr '\0\n' '\n\0' | sed -n 's/^160000 [0-9a-f]* 0	//p' | tr '\n\0' '\0\n' | xargs -0 sh -c '
      for folder; do
        if [ -e "$folder" ] || [ -L "$folder" ]; then
          rm -rf -- "$folder"
          mkdir -- "$folder"
        fi
      done' sh
  )
}

empty .
while [ $# -gt 0 ]; do
  path=$1 repository=$2
  shift 2
  rmdir -- "$path" 2>/dev/null || continue # it is no submodule of this commit
  mkdir -- "$path"
  printf 'gitdir: %s\n' "$repository" >"$path/.git"
  g -C "$path" reset -q --hard
  empty "$path"
done
