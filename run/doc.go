// Package run trains a network by a configuration, writes the run folder, and reads run
// folders.
//
//	cfg, err := run.Parse("run.yaml", text, "train.epochs=20")
//	res, err := run.Train(ctx, cfg, run.Options{Dir: "runs/photos"})
//	m, err := run.Load("runs/photos")
//	d, err := data.Open(ctx, "more-photos", data.OpenOptions{})
//	e, err := m.Embed(ctx, d.All()) // e.X has a row for each photograph
//
// Train makes what a Config names, passes it to package train, and writes the results: the
// resolved configuration, the network, the metrics of every epoch, a checkpoint, and the
// embeddings of the test split. Load reads the network and the preparation of its input. Open
// returns the folder for access to its other files. docs/training.md is the page for users;
// docs/design/train.md gives the reasons.
package run
