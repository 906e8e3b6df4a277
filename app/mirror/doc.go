// Package mirror brings an index to what a folder of photos, or another data set of image
// files, holds.
//
//	plan, err := mirror.Look(ctx, x, set, mirror.Options{})
//	done, err := plan.Apply(ctx, x, model)
//
// Look compares, and changes nothing; package changes has the rules. Apply embeds what is
// new and makes one change of the index, all of it or nothing. What is needed to compare
// again, the size, time and digest of each file, is in columns of the items themselves, so
// that it is written together with the embeddings it belongs to, or not at all.
package mirror
