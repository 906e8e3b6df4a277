package run

// Where grey images are learned from scratch and nobody says by which loss, it is SupCon with
// spread between two views of each image (Chen et al. 2022): SupCon tells the labels
// apart, and spread keeps the images of a label from falling together, each near its own
// other view, whether the label names one kind of thing or several. docs/design/scratch.md has
// the measurements, and why colour images keep the triplet loss.

// spreadViews is how many views of an image such a batch has.
const spreadViews = 2

// leavesLoss tells whether a configuration leaves open by which loss images are learned, and
// nothing that it sets keeps batches from having two views of each.
func (c *Config) leavesLoss() bool {
	return len(c.Loss) == 0 && len(c.Mine) == 0 && c.Sample.Views != 1 && c.Sample.PerClass != 1 &&
		c.Data.Augment != none
}
