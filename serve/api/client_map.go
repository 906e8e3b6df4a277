package api

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
)

// Map returns the state of the map of all items. If its State is computing, call Map
// again.
func (c *Client) Map(ctx context.Context) (*Map, error) {
	return call[Map](ctx, c, request{method: http.MethodGet, path: "/v1/map"}, nil)
}

// newMapRequest returns a request about the map of a version, with more parameters.
func newMapRequest(path string, version uint64, parameters ...string) request {
	q := url.Values{"version": {strconv.FormatUint(version, 10)}}
	for i := 0; i+1 < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	return request{method: http.MethodGet, path: path, query: q}
}

// MapPoints returns x and y of every item of a map.
func (c *Client) MapPoints(ctx context.Context, version uint64) ([][2]float32, error) {
	r := newMapRequest("/v1/map/points", version)
	b, err := c.readBytes(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(b)%8 != 0 {
		return nil, c.invalidAnswerError(r, fmt.Errorf("has %d bytes, not 8 for each point", len(b)))
	}
	out := make([][2]float32, len(b)/8)
	for i := range out {
		for j := range out[i] {
			out[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(b[8*i+4*j:]))
		}
	}
	return out, nil
}

// MapIDs returns up to count ids of a map's items, from the given point on.
func (c *Client) MapIDs(ctx context.Context, version uint64, from, count int) ([]string, error) {
	r := newMapRequest("/v1/map/ids", version, "from", strconv.Itoa(from), "count", strconv.Itoa(count))
	ids, err := call[MapIDs](ctx, c, r, nil)
	if err != nil {
		return nil, err
	}
	if count > 0 && len(ids.IDs) > count {
		return nil, c.invalidAnswerError(r, fmt.Errorf("has %d ids, but %d were requested", len(ids.IDs), count))
	}
	return ids.IDs, nil
}

// MapColumn returns a column of a map's items.
func (c *Client) MapColumn(ctx context.Context, version uint64, name string) (*MapColumn, error) {
	r := newMapRequest("/v1/map/column", version, "name", name)
	r.allowsNull = true
	return call[MapColumn](ctx, c, r, nil)
}
