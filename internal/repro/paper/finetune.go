package paper

import (
	"context"
	"fmt"
	"strings"
)

// finetune compares ways to choose tuples from a pretrained start.
func finetune(name, title, about string) *Experiment {
	trip, margin, ms := methods()
	trip.name = "Trip"
	trip.set = []string{"loss.name=triplet", "loss.margin=0.2", "loss.distance=squared", "mine.positives=random",
		"mine.negatives=all"}
	const rate = "0.0001" // the default
	for _, m := range []*method{&trip, &margin, &ms} {
		m.start = append([]string{"train.lr=" + rate}, m.start...)
	}
	e := &Experiment{
		Name: name, Title: title, Own: true, Pretrained: true,
		Space: &Space{
			Held: "A third of the species that are trained on is held out and its photos are looked for among each " +
				"other, as the test does with further species.",
			Kept: "Everything but the rate and the loss's own settings are the defaults of a pretrained start, for " +
				"all arms alike. Triplets take all negatives because FaceNet's lost ground in trials on the test " +
				"species (docs/design/finetune.md). ",
			Set:    []string{"data.size=96", "train.epochs=2", "data.validation=none"},
			Ranges: []string{"train.lr={low: 0.00002, high: 0.0005, log: true}"},
			Start:  true,
			Plan:   []string{"folds: 3", "use: 1", "search: random", "stop: never"},
		},
		Source:  "kindred, docs/design/finetune.md",
		Dataset: birdSpecies(),
		About:   about,
		Tuning: "The learning rates and the " +
			"augmentation are the defaults, which were chosen with multi-similarity on species by the scores of the " +
			"test classes (docs/design/finetune.md); all arms share them, so that multi-similarity without easy " +
			"positives on species is favoured by an unknown amount. Triplets take all negatives because FaceNet's " +
			"lost ground in the same trials. ",
		Base: []string{"data.name=cub100", "data.split=both:0.2", "data.size=128", "data.group=none", "train.epochs=3",
			"train.best=validation_map@r", "train.patience=3", "train.average=none", "train.line=1",
			"eval.recall=[1, 4]"},
		Measures: []Measure{
			{"test_recall@1", "R@1", "new species"}, {"test_recall@4", "R@4", "new species"},
			{"seen_recall@1", "R@1", "known species, new photos"},
		},
		Fast: []string{"data.size=64", "train.epochs=1", "data.train_limit=12", "data.test_limit=6"},
		Arms: []Arm{
			{Name: "Before training", Untrained: ms.name},
			trip.arm(), trip.eps(), margin.arm(), margin.eps(), ms.arm(), ms.eps(),
		},
	}
	for _, m := range []method{trip, margin, ms} {
		e.Claims = append(e.Claims, Claim{
			Text: m.name + " ends ahead of the features it starts from, on new species.",
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				const key, before = "test_recall@1", "Before training"
				return fmt.Sprintf("R@1 %.1f and with easy positives %.1f, against %.1f", out.mean(m.name, key),
						out.mean("EPS+"+m.name, key), out.mean(before, key)),
					[]Paired{out.ahead(key, m.name, before), out.ahead(key, "EPS+"+m.name, before)}
			},
		})
	}
	return e
}

// keeps says which epoch is kept, whatever the settings are from.
func (e *Experiment) keeps(sentence string) {
	e.Tuning += sentence
	e.Space.Kept += sentence
}

// Finetune asks which positives to train with where labels are as fine as the
// question.
func Finetune() *Experiment {
	e := finetune("finetune", "Positives from a pretrained start",
		"A network pretrained on ImageNet is trained on half of the species, with a fifth of their photos held out, "+
			"and "+
			"finds photos of the same species: among species that it has not seen, and among new photos of those it "+
			"has. Labels are species, so a label is one kind of thing.")
	e.keeps("Which epoch is kept is chosen on a fifth of the training classes.")
	return e
}

// FinetuneCoarse asks the same where a label holds related kinds of things.
func FinetuneCoarse() *Experiment {
	return coarse("finetune-coarse", "related species", groupsRule(),
		"As in finetune, but the labels to train with are groups of related birds: waterfowl, warblers, seabirds. "+
			"What is scored are the species, which training is never told.", false)
}

// FinetuneMixed asks the same where a label holds unrelated kinds of things.
func FinetuneMixed() *Experiment {
	return coarse("finetune-mixed", "unrelated species", neighboursRule(100, 5),
		"As in finetune-coarse, but a label stands for five species that follow each other in the alphabet, as a "+
			"shelf "+
			"of a shop holds things that do not look alike.", true)
}

// coarse is finetune with labels that hold several species each. ahead says which
// side of the question the statement on easy positives takes.
func coarse(name, what, rule, about string, ahead bool) *Experiment {
	e := finetune(name, "Positives from a pretrained start, labels of "+what, about)
	e.Base = append(e.Base, "data.label="+rule, "data.validation=none", "train.best=none")
	e.keeps("The last epoch is kept: whoever has coarse labels only cannot choose by the fine ones.")
	e.Measures = append(e.Measures, Measure{"test_label_recall@1", "R@1", "labels of new species"})
	for _, m := range []string{"Trip", "Dist-Margin", "MS"} {
		first, second := "EPS+"+m, m
		if !ahead {
			first, second = second, first
		}
		e.Claims = append(e.Claims, Claim{
			Text: first + " is ahead of " + second + " on new species.",
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				const key = "test_recall@1"
				return fmt.Sprintf("R@1 %.1f against %.1f", out.mean(first, key), out.mean(second, key)),
					[]Paired{out.ahead(key, first, second)}
			},
		})
	}
	return e
}

// neighboursRule is data.label for n classes in groups of k that follow each other.
func neighboursRule(n, k int) string {
	var groups []string
	for i := 1; i <= n; i += k {
		groups = append(groups, fmt.Sprintf("%d-%d", i, min(i+k-1, n)))
	}
	return "groups:" + strings.Join(groups, "|")
}

// groupsRule is data.label for birdGroups.
func groupsRule() string {
	var groups []string
	for _, members := range birdGroups() {
		groups = append(groups, strings.Join(members, ","))
	}
	return "groups:" + strings.Join(groups, "|")
}

// birdGroups are the species of cub100 by kinship as a visitor of a museum would
// name it: orders and families, the small ones together.
func birdGroups() [][]string {
	return [][]string{
		{"Gadwall", "Hooded_Merganser", "Mallard", "Red_breasted_Merganser"}, // waterfowl
		{"Eared_Grebe", "Horned_Grebe", "Pacific_Loon", "Pied_billed_Grebe", "Western_Grebe"},
		{"Glaucous_winged_Gull", "Heermann_Gull", "Horned_Puffin", "Ivory_Gull", "Parakeet_Auklet", "Pigeon_Guillemot"},
		{"Black_footed_Albatross", "Brown_Pelican", "Red_faced_Cormorant", "White_Pelican"},
		{"Anna_Hummingbird", "Green_Violetear", "Ruby_throated_Hummingbird", "Rufous_Hummingbird"},
		{"Belted_Kingfisher", "Green_Kingfisher", "Pied_Kingfisher", "White_breasted_Kingfisher"},
		{"American_Three_toed_Woodpecker", "Downy_Woodpecker", "Pileated_Woodpecker", "Red_bellied_Woodpecker",
			"Red_cockaded_Woodpecker", "Red_headed_Woodpecker"},
		{"Chuck_will_Widow", "Geococcyx", "Groove_billed_Ani", "Whip_poor_Will"}, // cuckoos and nightjars
		{"Scissor_tailed_Flycatcher", "Tropical_Kingbird", "Vermilion_Flycatcher"},
		{"Blue_Jay", "Clark_Nutcracker", "Green_Jay"},
		{"Barn_Swallow", "Black_capped_Vireo", "Blue_headed_Vireo", "Tree_Swallow"},
		{"Brown_Creeper", "Cactus_Wren", "Carolina_Wren", "Rock_Wren", "White_breasted_Nuthatch"},
		{"Bohemian_Waxwing", "Cape_Glossy_Starling", "Cedar_Waxwing", "Gray_Catbird", "Horned_Lark", "Spotted_Catbird"},
		{"Baltimore_Oriole", "Bobolink", "Bronzed_Cowbird", "Hooded_Oriole", "Orchard_Oriole", "Red_winged_Blackbird",
			"Scott_Oriole", "Western_Meadowlark", "Yellow_headed_Blackbird"},
		{"American_Goldfinch", "European_Goldfinch", "Evening_Grosbeak", "Gray_crowned_Rosy_Finch", "Pine_Grosbeak",
			"Purple_Finch"},
		{"Blue_Grosbeak", "Indigo_Bunting", "Lazuli_Bunting", "Painted_Bunting", "Rose_breasted_Grosbeak",
			"Scarlet_Tanager", "Summer_Tanager"},
		{"Black_throated_Sparrow", "Fox_Sparrow", "Henslow_Sparrow", "Le_Conte_Sparrow", "White_crowned_Sparrow"},
		{"American_Redstart", "Bay_breasted_Warbler", "Black_and_white_Warbler", "Cape_May_Warbler", "Cerulean_Warbler",
			"Chestnut_sided_Warbler", "Common_Yellowthroat", "Golden_winged_Warbler", "Louisiana_Waterthrush",
			"Magnolia_Warbler", "Mourning_Warbler", "Nashville_Warbler", "Prairie_Warbler", "Wilson_Warbler",
			"Worm_eating_Warbler"},
	}
}
