// Package serve answers over HTTP what lies near what: searches by picture, by item
// or by vector in collections of embedded items, and changes of them.
//
//	s, err := serve.New(serve.Options{Collections: []serve.Collection{{Name: "photos", Store: st, Embedder: net}}})
//	ln, err := serve.Listen("127.0.0.1:7700", serve.Limits{})
//	err = s.Serve(ctx, ln, nil) // until ctx ends; then it finishes what it has begun
//
// A Collection is a store.Store, the network that made its vectors, if pictures shall
// be searched with, and the folders whose pictures may be shown. A Server is an
// http.Handler besides. Everything that it answers, and everything that it refuses,
// is described by the OpenAPI document that it serves at /openapi.json; package
// serve/api has the messages as Go structs, and a client.
//
// Requests come from strangers: every body, picture, number and wait has a limit
// (Limits), memory for them is taken from one account before it is allocated, and no
// path of a request names a file. Errors are problem details (RFC 9457) with a code
// that stays the same, what is wrong, and the way out. docs/serve.md is the page for
// users.
package serve
