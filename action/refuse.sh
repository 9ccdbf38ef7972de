# shellcheck shell=sh
# refuse ends a step with one annotation: a title, and what to do. Sourced by the other scripts.
refuse() {
  printf '::error title=%s::%s\n' "$1" "$(printf '%s' "$2" | LC_ALL=C tr '\r\n' '  ' | LC_ALL=C sed 's/%/%25/g')"
  exit 2
}
