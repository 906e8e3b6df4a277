# kindred in an image that holds nothing else.
#
#   docker build -t kindred .
#   docker run --rm -v "$PWD:/work" -w /work kindred train --data photos/
#   docker run --rm -v "$PWD:/work" -w /work -p 7700:7700 kindred serve photos.index --listen 0.0.0.0:7700 --keys keys.txt
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /kindred ./cmd/kindred

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /kindred /kindred
# Caches and downloads go here; mount a volume to keep them.
ENV XDG_CACHE_HOME=/cache TMPDIR=/cache
VOLUME /cache
ENTRYPOINT ["/kindred"]
