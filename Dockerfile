# The same binary as an image, with Codex, for a laptop or a job's container:
#
#   docker run --rm -it -v "$PWD:/project" ghcr.io/symphony-runner/symphony --once
#
# It runs as a user without privileges. Of a container job GitHub mounts folders that belong to root, so
# there the image has to be used with `options: --user root`. Codex's sandbox needs user namespaces, which
# many container engines keep from containers; symphony then says so before a session starts.

# Dependabot proposes newer digests. Each is an index of images, amd64 and arm64 among them.
FROM golang:1.26-bookworm@sha256:551752d3ad9de9923190bf5280500617ed8fee287ffb4b0220e770ef89346258 AS symphony
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags nethttpomithttp2 -ldflags '-s -w' -o /symphony ./cmd/symphony

FROM node:22-bookworm-slim@sha256:48e4b67d85f87bd551df43704e24d252f56cc5f8e9718841aace50f19948f0f9 AS codex
ARG CODEX_VERSION=0.169.0
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates curl
COPY .github/action/common.sh .github/action/fetch-codex.sh .github/action/codex.sha512 /action/
RUN bash /action/fetch-codex.sh "$CODEX_VERSION" "linux-$(dpkg --print-architecture | sed s/amd64/x64/)" /codex \
  && /codex/bin/codex --version

FROM debian:bookworm-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bash ca-certificates curl git openssh-client \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --create-home --uid 1000 --shell /bin/bash symphony \
  && ln -s /usr/local/lib/codex/bin/codex /usr/local/bin/codex
COPY --from=codex /codex /usr/local/lib/codex
COPY --from=symphony /symphony /usr/local/bin/symphony
USER symphony
WORKDIR /project
ENTRYPOINT ["symphony"]
