package run

// Where images are learned from scratch and nobody says by which loss, it is SupCon with
// spread between two views of each image (Chen et al. 2022): SupCon tells the labels
// apart, and spread keeps the images of a label from falling together, each near its own
// other view, whether the label names one kind of thing or several. docs/design/scratch.md has
// the measurements.

// spreadViews is how many views of an image such a batch has.
const spreadViews = 2

// leavesLoss tells whether a configuration leaves open by which loss images are learned, and
// nothing that it sets keeps batches from having two views of each.
func (c *Config) leavesLoss() bool {
	return len(c.Loss) == 0 && len(c.Mine) == 0 && c.Sample.Views != 1 && c.Sample.PerClass != 1 &&
		c.Data.Augment != none
}

// viewsOf is the augmentation that makes views of images with so many channels, nil while
// that is unknown. Drawings, letters and digits keep their left and right.
func viewsOf(channels int) any {
	switch channels {
	case 0:
		return nil
	case 1:
		return "characters"
	}
	return "light"
}
