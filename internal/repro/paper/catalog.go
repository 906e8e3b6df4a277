package paper

// all returns the experiments in the order of method and paper.
func all() []*Experiment {
	return append([]*Experiment{
		MNIST(), MNISTWhy(), Omniglot(), OmniglotWhy(), OmniglotEpochs(), OmniglotPositives(), OmniglotTrain(),
		Trimmed(), Extreme(), Cars(), CUB(), SOP(), InShop(), CUBCoarse(), CUBMixed(), CarsCoarse(),
		SOPCoarse(), InShopCoarse(), Finetune(), FinetuneCoarse(), FinetuneMixed(), CuresOmniglot(), CuresMNIST(),
		CuresBirds(), Discover(), DiscoverMNIST(), DiscoverBirds(), CleanOmniglot(), CleanMNIST(), CleanBirds(),
		CleanedMNIST(), CleanedBirds(), Copies(),
	}, Defaults()...)
}

// Names lists the experiments' names.
func Names() []string {
	var names []string
	for _, e := range all() {
		names = append(names, e.Name)
	}
	return names
}

// Find returns the named experiment, or nil.
func Find(name string) *Experiment {
	for _, e := range all() {
		if e.Name == name {
			return e
		}
	}
	return nil
}
