// Package run turns a configuration into a trained embedding, and a folder that
// holds all of it; and reads such folders.
//
// Train takes a Config, from YAML and overrides, that names a data set, a
// network, how batches are drawn and mined, a loss and an optimizer. It makes
// these parts, hands them to package train, and keeps what comes of it: the
// resolved configuration, the network, the metrics of every epoch, a checkpoint
// to go on from, the embeddings of the test split.
//
//	cfg, err := run.Parse("run.yaml", text, "train.epochs=20")
//	res, err := run.Train(ctx, cfg, run.Options{Dir: "runs/photos"})
//
// Load reads the network of such a folder, with how its input is prepared, and
// computes embeddings with it:
//
//	m, err := run.Load("runs/photos")
//	d, err := data.Open(ctx, "more-photos", data.OpenOptions{})
//	e, err := m.Embed(ctx, d.All()) // e.X has a row for each photograph
//
// Open gives the rest of what is in a folder: a Folder is the one owner of its
// files' names. docs/training.md is the page for users, docs/design/train.md gives
// the reasons.
package run
