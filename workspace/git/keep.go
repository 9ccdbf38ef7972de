package git

import "strconv"

// keepScript writes two tars and prints the tracked files that have changed. Arguments: the
// path of git, the folder for the tars, the folder with the home, the bound of each tar in
// bytes, and the paths to keep; without paths all that is ignored is kept.
const keepScript = `git=$1 to=$2 home=$3
ulimit -f "$(($4 / 512))" 2>/dev/null # POSIX counts blocks of 512 bytes
most=$4
shift 4
if [ $# -gt 0 ]; then
  tracked=$("$git" --literal-pathspecs ls-files -- "$@" | head -n 3 | tr '\n' ' ')
  if [ -n "$tracked" ]; then echo "setup.keep names files that git tracks: $tracked" >&2; exit 3; fi
  for path; do if [ -e "$path" ] || [ -L "$path" ]; then printf '%s\0' "$path"; fi; done >"$to/list"
else
  "$git" ls-files -z --others --ignored --exclude-standard --directory >"$to/list" || exit 4
fi
tar -cf "$to/work.tar" --null -T "$to/list" && tar -cf "$to/home.tar" -C "$home" . || {
  if [ $? = 153 ]; then echo "(more than $most bytes): have the script remove some, or keep less (setup.keep)" >&2; fi
  exit 5
} # 153 is SIGXFSZ
"$git" diff --name-only HEAD | head -n 10`

// KeepCommand returns the command that writes the files of a prepared checkout to work.tar, and
// the files of a home to home.tar, in a folder; see [keepScript]. No tar is larger than
// maxBytes.
func (h *Host) KeepCommand(folder, home string, maxBytes int64, paths []string) Command {
	args := []string{h.shell, "-c", keepScript, "sh", h.git, folder, home, strconv.FormatInt(maxBytes, 10)}
	return Command{Args: append(args, paths...), Env: sandboxEnv}
}

// unpackScript unpacks the tars of keepScript. The files of work.tar replace all files that git
// ignores. Arguments: the path of git, the folder with the tars, and the folder of the home,
// which is empty to leave its tar for later.
const unpackScript = `git=$1 from=$2 home=$3
case $(tar --version 2>/dev/null) in *GNU*) old=--skip-old-files ;; *) old=-k ;; esac
if [ -e "$from/work.tar" ]; then
  "$git" clean -ffdXq 2>/dev/null # what the sandbox itself has mounted stays
  tar $old --no-same-owner -xf "$from/work.tar" && rm -f "$from/work.tar" || exit 1
fi
if [ -n "$home" ] && [ -e "$from/home.tar" ]; then
  tar $old --no-same-owner -C "$home" -xf "$from/home.tar" && rm -rf "$from" || exit 1
fi`

// TakeCommand returns the command that takes the tars of [Host.KeepCommand], in a folder, into a
// checkout and a home; see [unpackScript].
func (h *Host) TakeCommand(folder, home string) Command {
	return Command{Args: []string{h.shell, "-c", unpackScript, "sh", h.git, folder, home}, Env: sandboxEnv}
}
