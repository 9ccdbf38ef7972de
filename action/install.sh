#!/usr/bin/env bash
# Installs the released binary that was made from the commit this action is at, checked by its checksum. For
# a branch, a local action, or where there is no such release, it says instead where the source is, and the
# digest that a binary built from it is cached by. A binary that does not match its checksum ends the job.
#
# Outputs: binary, the absolute path; source and digest, only when it has yet to be built.
set -euo pipefail
. "$GITHUB_ACTION_PATH/action/refuse.sh"

folder=$RUNNER_TEMP/symphony
binary=$folder/symphony
mkdir -p "$folder"
cd "$folder" # outside of the checkout, whose git configuration is not ours to use
echo "binary=$binary" >>"$GITHUB_OUTPUT"

sha256() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

build() { # why
  echo "Building symphony from source: $1"
  local files
  cd "$GITHUB_ACTION_PATH"
  files=$(find go.mod go.sum cmd codex runner tracker workspace -type f | LC_ALL=C sort)
  {
    echo "source=$GITHUB_ACTION_PATH"
    echo "digest=$({ echo "$files" && tr '\n' '\0' <<<"$files" | xargs -0 cat; } | sha256 | cut -d ' ' -f 1)"
  } >>"$GITHUB_OUTPUT"
  exit 0
}

case ${RUNNER_OS}_${RUNNER_ARCH} in
Linux_X64) platform=linux_amd64 ;;
Linux_ARM64) platform=linux_arm64 ;;
macOS_X64) platform=darwin_amd64 ;;
macOS_ARM64) platform=darwin_arm64 ;;
*) build "there are no binaries for $RUNNER_OS on $RUNNER_ARCH" ;;
esac
if [ -z "$ACTION_REF" ] || [ -z "$ACTION_REPOSITORY" ]; then
  build "the action is a local one"
fi
for program in git curl; do
  command -v "$program" >/dev/null || build "finding its release takes $program"
done

# A ref is a full version, a tag that moves (v1) or a commit; all three lead to the commit, and from there to
# the version. An annotated tag is listed twice, the second time (^{}) with the commit it stands for.
repository=$GITHUB_SERVER_URL/$ACTION_REPOSITORY
tags=$(GIT_TERMINAL_PROMPT=0 git ls-remote --tags "$repository") || build "the tags of $repository cannot be read"
commit=$(awk -v ref="refs/tags/$ACTION_REF" '$2 == ref || $2 == ref "^{}" { commit = $1 } END { print commit }' <<<"$tags")
commit=${commit:-$ACTION_REF}
tag=$(awk -v commit="$commit" '$1 == commit && $2 ~ /^refs\/tags\/v[0-9]+\.[0-9]+\.[0-9]+(\^\{\})?$/ {
  sub("refs/tags/", "", $2); sub(/\^\{\}$/, "", $2); print $2 }' <<<"$tags" | sort -V | tail -n 1)
[ -n "$tag" ] || build "no released version is at $ACTION_REF"

asset=symphony_$platform.tar.gz
rm -f "$asset" checksums.txt
for file in checksums.txt "$asset"; do
  curl --fail --silent --show-error --location --retry 3 --output "$file" "$repository/releases/download/$tag/$file" ||
    build "$repository has no $file for $tag"
done
want=$(awk -v asset="$asset" '$2 == asset || $2 == "*" asset { print $1 }' checksums.txt)
got=$(sha256 "$asset" | cut -d ' ' -f 1)
[ "$want" = "$got" ] ||
  refuse "Checksum mismatch" "$asset of $repository $tag has the SHA-256 $got, but its checksums.txt says \"$want\". Do not use this release: pin the action to another version, and tell its maintainers."
tar -xzf "$asset" symphony
echo "Installed symphony $tag ($platform), SHA-256 of the archive $got"
