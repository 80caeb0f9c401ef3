//! Replays the corpus: what was found once stays in order.

use leasehold_fuzz::corpus;
use leasehold_fuzz::explore::run_quietly;
use leasehold_fuzz::mutate::change;
use leasehold_fuzz::targets::TARGETS;
use leasehold_sim::rng::Rng;

/// What the corpus may take of the repository, in bytes.
const ROOM: usize = 200 * 1024;

#[test]
fn no_input_of_the_corpus_breaks_a_rule() {
    let mut broken = Vec::new();
    for target in &TARGETS {
        let files = corpus::read(target).expect("every target has a corpus");
        assert!(!files.is_empty(), "{}: nothing to replay", target.name);
        for (name, input) in files {
            if let Err(why) = run_quietly(target, &input) {
                broken.push(format!("corpus/{}/{name}: {why}", target.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_corpus_stays_small() {
    let mut total = 0;
    for target in &TARGETS {
        let files = corpus::read(target).expect("a corpus");
        assert!(files.len() <= corpus::MOST, "{}", target.name);
        total += files.iter().map(|(_, input)| input.len()).sum::<usize>();
    }
    assert!(total <= ROOM, "{total} bytes");
}

#[test]
fn a_run_is_determined_by_its_input() {
    for target in &TARGETS {
        for (name, input) in corpus::read(target).expect("a corpus") {
            let runs = [(); 2].map(|()| run_quietly(target, &input).expect("no rule broken"));
            assert_eq!(runs[0].lacks(&runs[1]), 0, "{}/{name}", target.name);
            assert_eq!(runs[1].lacks(&runs[0]), 0, "{}/{name}", target.name);
        }
    }
}

/// A little exploring in every test run, from the corpus on.
#[test]
fn what_lies_near_the_corpus_breaks_no_rule() {
    for target in &TARGETS {
        let inputs: Vec<Vec<u8>> = corpus::read(target)
            .expect("a corpus")
            .into_iter()
            .map(|(_, input)| input)
            .collect();
        let mut random = Rng::new(2026);
        for _ in 0..2_000 {
            let mut input = inputs[random.index(inputs.len())].clone();
            let other = &inputs[random.index(inputs.len())];
            change(&mut input, other, target.words, &mut random);
            if let Err(why) = run_quietly(target, &input) {
                panic!("{}: {why}\nthe input: {input:?}", target.name);
            }
        }
    }
}
