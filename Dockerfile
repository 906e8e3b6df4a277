# kindred in an image that holds nothing else, as a user who is not root.
#
#   docker build -t kindred .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" -w /work kindred train --data photos/
#   docker run --rm -v "$PWD:/work:ro" -w /work -p 7700:7700 kindred serve photos.index --read-only \
#     --listen 0.0.0.0:7700 --keys keys.txt
#
# Of the base only the compiler and the list of certificate authorities get into the
# image's making. The tag names one release of Go; a build that must not depend on who
# may move a tag names the digest that it has checked:
#
#   docker build --build-arg GO_IMAGE=golang@sha256:... -t kindred .
ARG GO_IMAGE=golang:1.26.8
FROM ${GO_IMAGE} AS build
# The compiler is the image's, and modules are those of go.sum.
ENV GOTOOLCHAIN=local GOFLAGS=-mod=readonly
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download && go mod verify
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags grpcnotrace,minimal -ldflags '-s -w' -o /out/kindred ./cmd/kindred
# Whoever --user names may write caches.
RUN install -d /out/etc/ssl/certs && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
 && install -d -m 1777 /out/cache

FROM scratch
COPY --from=build /out/ /
# Caches and downloads go here; mount a volume to keep them.
ENV XDG_CACHE_HOME=/cache TMPDIR=/cache
VOLUME /cache
# Nobody in particular: no file of the image is theirs, and no name is needed.
USER 65532:65532
ENTRYPOINT ["/kindred"]
