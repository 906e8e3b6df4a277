package main

// What the pages add to the doc comments. Collapse means that the embedding
// maps a class to one point and loses what tells its members apart.

var positiveNotes = map[string]note{
	"easy": {"When members of a class have several looks, labels are coarse, or similar items within a class must " +
		"stay near each other. It needs several positives for each anchor in a batch.",
		"Only nearest positives are tied together. Modes of a class are not pulled together, so fine structure below " +
			"the label survives: this is what the policy is for."},
	"random": {"As the usual baseline.", "Every pair of a class is pulled together sooner or later: classes collapse."},
	"hard": {"When classes are compact and every member must be near every other.",
		"The farthest member is pulled in at each step: this collapses fastest, and label noise does the most harm."},
	"all": {"With losses that weight pairs themselves, and in small batches.",
		"Every pair of a class is pulled together: classes collapse."},
	"ms": {"With the multi-similarity loss.",
		"Positives that are more similar than all negatives by epsilon are left alone, which leaves some spread."},
	"histogram": {"To see pairs at all distances alike, where a class has many near members and few far ones.",
		"Far members come up more often than by random choice, so that a class is pulled together harder."},
	"semihard": {"With hard or easy negatives, when the hardest positives are mislabelled or collapse the embedding: " +
		"every triplet is one that the embedding already orders rightly. Early in training many anchors have no " +
		"such positive and rest.",
		"Members within reach of the nearest negative are pulled in, the farthest of them first; those beyond it are " +
			"left alone, so that modes of a class with another class between them stay apart."},
}

var negativeNotes = map[string]note{
	"facenet": {"As the usual choice with the triplet loss: every drawn triplet has a loss above 0 and below the " +
		"margin.", "It acts between classes; what happens within a class is up to the positive policy."},
	"random": {"In large numbers of cheap steps, or early in training. Most triplets soon have no loss.",
		"It acts between classes only, and weakly, so that positives dominate."},
	"hard": {"With easy positives, or late in training. With hard positives, or labels that are wrong, it may " +
		"collapse the embedding.", "It separates classes most strongly; modes of other classes that lie between the " +
		"modes of one class keep these apart."},
	"easy": {"For experiments; the farthest negative teaches little.",
		"Hardly any push between classes: positives dominate."},
	"semihard": {"With easy positives (EPSHN): the nearest negative that is not nearer than the positive, which " +
		"avoids the pull to one point that the hardest negatives can cause.",
		"It acts between classes; a negative nearer than the positive is left for later."},
	"all": {"With losses that weight pairs themselves.", "It acts between classes only."},
	"distance": {"With the margin loss: negatives at all distances come up evenly, which lowers the variance of " +
		"gradients in high dimension.", "It acts between classes only."},
	"ms": {"With the multi-similarity loss.",
		"Negatives far below the least similar positive are left alone; it acts between classes only."},
	"angular": {"With the triplet or the angular loss, when classes differ in scale: what counts as too near " +
		"follows from how far apart anchor and positive are. A smaller angle takes more negatives.",
		"It acts between classes; a near positive has few negatives or none, so that with easy positives many " +
			"anchors rest."},
	"histogram": {"As distance, where embeddings are not spread over the sphere: it evens out the distances there " +
		"are and assumes nothing of their density.", "It acts between classes only."},
}
