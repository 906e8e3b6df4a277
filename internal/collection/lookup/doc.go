// Package lookup looks things up in a gallery: photos, words, sums of both, items and vectors. It finds what is nearest
// to them, with the probability that it shows the same thing, and decides what they are. The commands, the server and
// Python use this one way:
//
//	Spec -> Open -> Source -> Query -> Nearest -> api.Answer
//	                                -> Decide  -> Decision
//
// A Spec names the gallery and the network; Validate refuses settings that do not apply. A Source is what Open opens:
// it makes queries of photos, words and files, and the Gallery. A Gallery is a Table (photos that a network embeds, or
// a file of embeddings) or Items (an index, or a store of a database).
package lookup
