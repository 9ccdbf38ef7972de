# The same binary as an image, with Codex, for a laptop or a job's container:
#
#   docker run --rm -it -v "$PWD:/project" ghcr.io/symphony-runner/symphony --once
#
# It runs as a user without privileges. Of a container job GitHub mounts folders that belong to root, so
# there the image has to be used with `options: --user root`. Codex's sandbox needs user namespaces, which
# many container engines keep from containers; symphony then says so before a session starts.

# The release workflow replaces these by the digests that the tags are at then; they are labels of the image.
ARG GO_BASE=golang:1.26-bookworm
ARG NODE_BASE=node:22-bookworm-slim
ARG DEBIAN_BASE=debian:bookworm-slim

FROM ${GO_BASE} AS symphony
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags nethttpomithttp2 -ldflags '-s -w -funcalign=16' -o /symphony ./cmd/symphony

FROM ${NODE_BASE} AS codex
ARG CODEX_VERSION=0.169.0
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates curl
COPY .github/action/common.sh .github/action/fetch-codex.sh .github/action/codex.sha512 /action/
RUN bash /action/fetch-codex.sh "$CODEX_VERSION" "linux-$(dpkg --print-architecture | sed s/amd64/x64/)" /codex \
  && /codex/bin/codex --version

FROM ${DEBIAN_BASE}
ARG GO_BASE
ARG NODE_BASE
ARG DEBIAN_BASE
LABEL org.opencontainers.image.base.name=${DEBIAN_BASE} symphony.base.go=${GO_BASE} symphony.base.node=${NODE_BASE}
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
