# Filters a file in Git LFS for git, which runs this in the sandbox at the top of the work
# tree. The caller sets mode:
#
#	smudge	standard input is a pointer; prints the object, or the pointer if it is not here
#	clean	standard input is a file; keeps it as an object and prints the pointer
#	point	prints the pointer of $file and keeps nothing; a file that is no pointer at HEAD
#		and has not changed since is printed as it is
#
# What is a pointer already, or empty, is printed as it is.
export LC_ALL=C
folder=.git
[ -d .git ] || folder=$(git rev-parse --git-common-dir)
folder=$folder/lfs

# object reads a file and prints where its object is; nothing if it is no pointer.
object() {
  head -c 200 | sed -n '1{
/^version https:\/\/git-lfs\.github\.com\/spec\/v1$/!q
}
2{
/^oid sha256:[0-9a-f]\{64\}$/!q
s/^oid sha256:\(\(..\)\(..\).*\)$/\2\/\3\/\1/
h
}
3{
/^size [0-9][0-9]*$/!q
$!q
x
p
q
}'
}

# sum prints the SHA-256 of a file.
sum() {
  if command -v sha256sum >/dev/null; then
    sha256sum <"$1"
  else
    shasum -a 256 <"$1"
  fi
}

if [ "$mode" != point ]; then
  set -e
  mkdir -p "$folder/tmp"
  file=$folder/tmp/$$
  trap 'rm -f "$file"' EXIT
  cat >"$file"
fi
pointer=$(object <"$file")
if [ "$mode" = smudge ]; then
  if [ -n "$pointer" ] && [ -f "$folder/objects/$pointer" ]; then
    cat "$folder/objects/$pointer"
  else
    cat "$file"
  fi
  exit
fi
if [ -n "$pointer" ] || [ ! -s "$file" ]; then
  cat "$file"
  exit
fi
if [ "$mode" = point ]; then
  size=$(git cat-file -s "HEAD:$file" 2>/dev/null || echo 0)
  if [ "$size" -gt 200 ] || [ "$size" -gt 0 ] && [ -z "$(git cat-file blob "HEAD:$file" | object)" ]; then
    if git cat-file blob "HEAD:$file" | cmp -s - "$file"; then
      cat "$file"
      exit
    fi
  fi
fi
set -- $(sum "$file") $(wc -c <"$file")
[ $# = 3 ] || exit 1
echo "version https://git-lfs.github.com/spec/v1"
echo "oid sha256:$1"
echo "size $3"
[ "$mode" = clean ] || exit 0
place=$(echo "$1" | sed 's/^\(..\)\(..\).*$/\1\/\2/')
mkdir -p "$folder/objects/$place"
mv -f "$file" "$folder/objects/$place/$1"
