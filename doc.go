// Package kindred is metric learning in Go: it trains embeddings in which similar things
// are close together, keeps the look-alikes within a class together instead of collapsing
// the class to a point, and measures how well that worked. This page teaches the library in
// ten nouns. The module root holds no code: its Examples show the nouns at work.
//
// # Data and training
//
// A data set ([github.com/kindred-ml/kindred/data.Dataset]) is samples with labels: a folder
// for each class, a manifest, any [io/fs.FS], or any other source of pictures. Functions take
// a part of it ([github.com/kindred-ml/kindred/data.Part]).
//
// A loss ([github.com/kindred-ml/kindred/loss.Loss]) says how wrong the distances between
// embeddings are. A miner ([github.com/kindred-ml/kindred/objective.MiningConfig]) chooses the pairs and
// triplets of a batch that it looks at. Both together are an objective
// ([github.com/kindred-ml/kindred/objective.Objective]), from embeddings and labels to a value
// and a gradient. A loss of your own is a type with three methods.
//
// A run is one training with all its files. [github.com/kindred-ml/kindred/run.Train] makes it
// from a configuration, with a pretrained start and measured defaults;
// [github.com/kindred-ml/kindred/run.Options] takes a data set, a loss, a miner, a sampler and
// observers of your own.
//
//	d, err := data.Open(ctx, "photos", data.OpenOptions{})
//	cfg, err := run.Parse("", nil, "train.epochs=20")
//	res, err := run.Train(ctx, cfg, run.Options{Dataset: d, Dir: "runs/photos"})
//
// # Use
//
// A model ([github.com/kindred-ml/kindred/run.Model]) is the network of a run, or one that was
// trained elsewhere, with the preparation of its pictures and the distance of its embeddings. It turns
// a part into a matrix ([github.com/kindred-ml/kindred/matrix.Dense]) with a row for each sample.
//
//	m, err := run.Load("runs/photos")
//	e, err := m.EmbedPart(ctx, d.All())
//
// An index ([github.com/kindred-ml/kindred/index.Index]) keeps embeddings with columns in a
// folder and finds the nearest ones. A server ([github.com/kindred-ml/kindred/serve.Server])
// answers such searches over HTTP, as a handler under your mux. Both use a store
// ([github.com/kindred-ml/kindred/store.Store]), which can also be a vector database.
//
// # Judgement
//
// A report ([github.com/kindred-ml/kindred/eval.Report]) has the scores of an embedding:
// Recall@k, MAP@R, NMI and their kin. A calibration
// ([github.com/kindred-ml/kindred/decide.Calibration]) says what a distance means: same or
// not, which class, or unknown, with a stated error.
// [github.com/kindred-ml/kindred/discover.Find] looks for sub-classes within a class, and package
// clean for wrong labels.
//
// # Where to go on
//
// The command kindred does all of this without a line of Go. docs/extending.md shows how to add
// your own parts, docs/api.md says what stays the same from one version to the next, and
// docs/design where packages are and why.
package kindred
