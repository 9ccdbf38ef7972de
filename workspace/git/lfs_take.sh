# Runs inside the sandbox of the agent, in its workspace, and prints objects of Git LFS.
#
# Arguments, for each object: its place below .git/lfs/objects, its size, and the path of
# the file in the work tree. It is printed after a plus sign; a minus sign stands for one
# that is in neither place in its whole length. What is printed need not be the object.
set -eu
while [ $# -gt 0 ]; do
  found=
  for file in ".git/lfs/objects/$1" "./$3"; do
    if [ -z "$found" ] && [ -f "$file" ] && [ ! -L "$file" ] && [ "$(wc -c <"$file")" -eq "$2" ]; then
      found=$file
    fi
  done
  if [ -n "$found" ]; then
    printf +
    head -c "$2" <"$found"
  else
    printf -- -
  fi
  shift 3
done
