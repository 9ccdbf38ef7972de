#!/usr/bin/env bash
# Installs the binary that was released from the commit this action is at. Releases come from github.com alone,
# whatever server the job runs on: on another server anybody may own the name of this repository. For a branch,
# a local action, or where there is no such release, it names instead the source and the digest that a binary
# built from it is cached by.
#
# The archive is checked by its checksum, and by its attestation where there is a gh that can do it: it says
# that the release workflow of this repository made the archive from this very commit. A check that fails ends
# the job. Where the attestation cannot be checked, an action pinned by commit is built from source, so that the
# pin holds for the binary too; any other ref moves anyway, and the log says that the check was left out.
#
# Outputs: binary, the absolute path; source and digest, only when it has yet to be built.
set -euo pipefail
. "${0%/*}/common.sh"

source=$(cd "${0%/*}/../.." && pwd)
folder=$RUNNER_TEMP/symphony
binary=$folder/symphony
mkdir -p "$folder"
cd "$folder" # outside of the checkout, whose git configuration is not ours to use
echo "binary=$binary" >>"$GITHUB_OUTPUT"

build() { # why
  [ -z "${root:-}" ] || kill "$root" 2>/dev/null || true # nobody waits for it now
  echo "Building symphony from source: $1"
  local files
  cd "$source"
  files=$(find go.mod go.sum cmd codex internal runner tracker workspace -type f | LC_ALL=C sort)
  {
    echo "source=$source"
    echo "digest=$({ echo "$files" && tr '\n' '\0' <<<"$files" | xargs -0 cat; } | sha256 | cut -d ' ' -f 1)"
  } >>"$GITHUB_OUTPUT"
  exit 0
}

# unattested goes on without the attestation, if the action is not pinned by commit.
unattested() { # why
  if [[ $ACTION_REF =~ ^[0-9a-f]{40}$ ]]; then
    build "the release $tag cannot be held to the commit this action is pinned by: $1"
  fi
  note="its attestation was not verified: $1"
}

platform=$(platform)
[ -n "$platform" ] || build "there are no binaries for $RUNNER_OS on $RUNNER_ARCH"
if [ -z "$ACTION_REF" ] || [ -z "$ACTION_REPOSITORY" ]; then
  build "the action is a local one"
fi
case $GITHUB_SERVER_URL/$ACTION_REPOSITORY in
https://github.com/* | */symphony-runner/symphony) repository=https://github.com/$ACTION_REPOSITORY ;;
*) build "releases come from github.com alone, where $ACTION_REPOSITORY may be another repository than on $GITHUB_SERVER_URL" ;;
esac
for program in git curl; do
  command -v "$program" >/dev/null || build "finding its release takes $program"
done

# What the attestation is checked with comes while git and curl work. It needs no login.
export GH_PROMPT_DISABLED=1 GH_NO_UPDATE_NOTIFIER=1
rm -f trusted-root.jsonl
root=
if ! command -v gh >/dev/null; then
  note="there is no gh"
elif ! gh attestation verify --help 2>/dev/null | grep -q -e --source-digest; then
  note="this gh is too old"
else
  limited "$((4 * stall))" gh attestation trusted-root --hostname github.com >trusted-root.jsonl 2>trusted-root.log &
  root=$!
fi

# A ref is a full version, a tag that moves (v1) or a commit; all three lead to the commit, and from there to
# the version. An annotated tag is listed twice, the second time (^{}) with the commit it stands for.
tags=$(GIT_TERMINAL_PROMPT=0 limited "$((4 * stall))" git -c http.lowSpeedLimit=1 -c http.lowSpeedTime="$stall" ls-remote --tags "$repository") || build "the tags of $repository cannot be read"
commit=$(awk -v ref="refs/tags/$ACTION_REF" '$2 == ref || $2 == ref "^{}" { commit = $1 } END { print commit }' <<<"$tags")
commit=${commit:-$ACTION_REF}
tag=$(awk -v commit="$commit" '$1 == commit && $2 ~ /^refs\/tags\/v[0-9]+\.[0-9]+\.[0-9]+(\^\{\})?$/ {
  sub("refs/tags/", "", $2); sub(/\^\{\}$/, "", $2); print $2 }' <<<"$tags" | sort -V | tail -n 1)
[ -n "$tag" ] || build "no released version is at $ACTION_REF"

asset=symphony_$platform.tar.gz
files=(checksums.txt "$asset")
if [ -z "$root" ]; then
  unattested "$note"
elif ! wait "$root"; then
  cat trusted-root.log
  unattested "gh cannot get the keys that attestations are checked with"
else
  note=
  files+=(attestation.jsonl)
fi
for file in "${files[@]}"; do
  rm -f "$file"
  fetch "$repository/releases/download/$tag/$file" "$file" || build "$file of the release $tag of $repository cannot be fetched: $failure"
done
want=$(awk -v asset="$asset" '$2 == asset || $2 == "*" asset { print $1 }' checksums.txt)
got=$(sha256 "$asset" | cut -d ' ' -f 1)
[ "$want" = "$got" ] ||
  refuse "Checksum mismatch" "$asset of $repository $tag has the SHA-256 $got, but its checksums.txt says \"$want\". Do not use this release: pin the action to another version, and tell its maintainers."
if [ -z "$note" ]; then
  code=0
  limited "$((4 * stall))" gh attestation verify "$asset" --bundle attestation.jsonl --custom-trusted-root trusted-root.jsonl \
    --hostname github.com --repo "$ACTION_REPOSITORY" --signer-workflow "$ACTION_REPOSITORY/.github/workflows/release.yml" \
    --source-digest "$commit" --deny-self-hosted-runners || code=$?
  case $code in
  0) note="its attestation holds for the commit $commit" ;;
  124) unattested "gh did not end within $((4 * stall)) seconds" ;;
  *) refuse "Attestation mismatch" "gh cannot verify that the release workflow of $repository made $asset of $tag from the commit $commit: what it says is in the log. Do not use this release: pin the action to another version, and tell its maintainers." ;;
  esac
fi
tar -xzf "$asset" symphony
echo "Installed symphony $tag ($platform) of $repository: SHA-256 of the archive $got; $note"
