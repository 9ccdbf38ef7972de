# shellcheck shell=sh
# Functions that the other scripts share. Sourced by them; POSIX sh.

# refuse ends a step with one annotation: a title, and what to do.
refuse() {
  printf '::error title=%s::%s\n' "$1" "$(one_line "$2")"
  exit 2
}

# warn and notice annotate a step that goes on.
warn() { printf '::warning title=%s::%s\n' "$1" "$(one_line "$2")"; }
notice() { printf '::notice title=%s::%s\n' "$1" "$(one_line "$2")"; }

one_line() { printf '%s' "$1" | LC_ALL=C tr '\r\n' '  ' | LC_ALL=C sed 's/%/%25/g'; }

# takes_artifacts succeeds on the servers that actions/upload-artifact v4 and later do not refuse.
takes_artifacts() {
  case $(lower "$GITHUB_SERVER_URL") in
  https://github.com | https://*.ghe.com | http://*.localhost*) return 0 ;;
  esac
  return 1
}

lower() { printf '%s' "$1" | LC_ALL=C tr '[:upper:]' '[:lower:]'; }

# platform prints the system and the architecture as Go names them; nothing when there is no release for them.
# GitHub's runner writes Linux and X64, others write them in their own way.
platform() {
  case $(lower "$RUNNER_OS")_$(lower "$RUNNER_ARCH") in
  linux_x64 | linux_amd64 | linux_x86_64) echo linux_amd64 ;;
  linux_arm64 | linux_aarch64) echo linux_arm64 ;;
  macos_x64 | darwin_amd64 | macos_amd64 | macos_x86_64) echo darwin_amd64 ;;
  macos_arm64 | darwin_arm64 | macos_aarch64) echo darwin_arm64 ;;
  esac
}

sha256() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }
fetch() { # URL, file
  curl --proto '=https' --fail --silent --show-error --location --retry 3 --output "$2" "$1"
}
