# Functions of the scripts that run inside the sandbox of the agent, in its workspace.

# read_only FOLDER reports whether nothing can be written to a folder, which need not be
# there. A file or a link in its place is none.
read_only() {
  if [ -L "$1" ] || { [ -e "$1" ] && [ ! -d "$1" ]; }; then
    return 1
  fi
  probe=$1
  [ ! -d "$1" ] || probe=$1/.symphony-$$
  ! { mkdir "$probe" && rmdir "$probe"; } 2>/dev/null
}

# outside_read_only prints the pathspec of everything outside of the folders that a
# sandbox keeps read-only, and of others.
outside_read_only() {
  printf .
  for folder in .agents .aws .codex; do
    ! read_only "$folder" || set -- "$@" "$folder"
  done
  [ $# -eq 0 ] || printf ' :(exclude,literal)%s' "$@"
}

