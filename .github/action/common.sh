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

# of_pull_request succeeds in a run whose caches GitHub keeps for one pull request.
of_pull_request() {
  case ${GITHUB_REF:-} in
  refs/pull/*/merge) return 0 ;;
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

# stall is how many seconds a transfer may go on without any progress to speak of: no job waits for a server that
# accepts a connection and says nothing.
stall=${STALL_SECONDS:-30}

# limited ends a command, and what it has started, after so many seconds: its status is 124 then. macOS has perl in
# place of timeout.
limited() { # seconds, command
  if command -v timeout >/dev/null; then
    timeout "$@"
  elif command -v perl >/dev/null; then
    perl -e '
      my $seconds = shift;
      defined(my $pid = fork) or exit 125;
      unless ($pid) { setpgrp; exec @ARGV; exit 127 }
      $SIG{ALRM} = sub { kill TERM => -$pid; exit 124 };
      alarm $seconds;
      waitpid $pid, 0;
      exit($? & 127 ? 128 + ($? & 127) : $? >> 8)' "$@"
  else
    shift
    "$@"
  fi
}

# transfer is curl with limits of time and speed; more seconds for large files.
transfer() { # seconds at most, arguments of curl
  curl --proto '=https' --connect-timeout 10 --speed-limit 1000 --speed-time "$stall" \
    --fail --silent --show-error --location --max-time "$@"
}

# fetch gets a file, or sets failure to the reason: only a server that answers 404 has no such file.
fetch() { # URL, file
  code=0
  answer=$(transfer 300 --retry 3 --retry-max-time "$((2 * stall))" --write-out '%{http_code}' --output "$2" "$1") || code=$?
  [ "$code" != 0 ] || return 0
  # shellcheck disable=SC2034 # for the caller
  case $code$answer in
  22404) failure="there is none" ;;
  22*) failure="the server answers $answer" ;;
  *) failure="curl ends with status $code, and the log says why" ;;
  esac
  return 1
}
