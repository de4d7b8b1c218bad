//! Reading, work and writing at the same time, in the memory of a few blocks.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder, ScopedJoinHandle};

use crate::io::Block;

type Done = Result<(), String>;

/// Blocks between two stages: one in work on each side.
const BLOCKS: usize = 2;

/// Parts that may be under way for each thread.
const AHEAD: usize = 2;
/// Bytes of a thread's stack. Rust would let `RUST_MIN_STACK` decide.
const STACK_BYTES: usize = 2 << 20;

/// Where the middle stage sends what it made.
pub struct Outlet {
    full: SyncSender<Block>,
    free: Receiver<Block>,
}

impl Outlet {
    /// A block to write to. An error says only that the writer has stopped, which then has the reason.
    pub fn block(&self) -> Result<Block, String> {
        self.free.recv().map_err(stopped)
    }

    pub fn send(&self, block: Block) -> Done {
        self.full.send(block).map_err(stopped)
    }
}

fn no_thread(e: std::io::Error) -> String {
    format!("cannot start a thread: {e}")
}

fn stopped<E>(_: E) -> String {
    "writing stopped".into()
}

/// Runs `source` until it answers false, `work` on each block that it filled, and `sink` on each block that `work`
/// sent.
pub fn run(
    mut source: impl FnMut(&mut Block) -> Result<bool, String> + Send,
    mut work: impl FnMut(&Block, &Outlet) -> Done,
    mut sink: impl FnMut(&[u8]) -> Done + Send,
) -> Done {
    let [(free_in, to_fill), (free_out, to_take)] = [blocks(), blocks()];
    let (filled, to_work) = sync_channel(BLOCKS);
    let (made, to_write) = sync_channel::<Block>(BLOCKS);
    thread::scope(|s| {
        let stage = || Builder::new().stack_size(STACK_BYTES);
        let read = move || {
            for mut block in to_fill {
                if !source(&mut block)? || filled.send(block).is_err() {
                    break;
                }
            }
            Done::Ok(())
        };
        let write = move || {
            for block in to_write {
                sink(block.data())?;
                let _ = free_out.send(block); // the worker may have finished
            }
            Done::Ok(())
        };
        let reader = stage().spawn_scoped(s, read).map_err(no_thread)?;
        let writer = stage().spawn_scoped(s, write).map_err(no_thread)?;
        let outlet = Outlet { full: made, free: to_take };
        let worked = to_work.iter().try_for_each(|block: Block| {
            work(&block, &outlet)?;
            let _ = free_in.send(block); // the reader may have reached the end
            Ok(())
        });
        // Closing the channels is what lets the others end.
        drop((to_work, free_in, outlet));
        let (read, written) = (join(reader), join(writer));
        // A failed writer makes `work` fail too, so the cause comes first.
        written.and(worked).and(read)
    })
}

fn blocks() -> (Sender<Block>, Receiver<Block>) {
    let (sender, receiver) = channel();
    for _ in 0..BLOCKS {
        let _ = sender.send(Block::default());
    }
    (sender, receiver)
}

fn join(stage: ScopedJoinHandle<'_, Done>) -> Done {
    stage.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// This thread reads and takes, others work; a single one does all of it.
pub fn in_order<P: Send, R: Send, T: Send>(
    mut parts: impl Iterator<Item = P>,
    mut read: impl FnMut(&P) -> Result<R, String>,
    work: impl Fn(&P, R) -> Result<T, String> + Sync,
    mut take: impl FnMut(&P, Result<T, String>) -> Result<(), String>,
) -> Result<(), String> {
    let threads = sleek::exec::threads(0).min(parts.size_hint().1.unwrap_or(usize::MAX)).max(1);
    if threads == 1 {
        return parts.try_for_each(|part| {
            let read = read(&part)?;
            take(&part, work(&part, read))
        });
    }
    let (jobs, to_do) = channel::<(usize, P, R)>();
    let (finished, done) = channel();
    let to_do = Mutex::new(to_do);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (finished, to_do, work) = (finished.clone(), &to_do, &work);
            let run = move || {
                while let Some((i, part, job)) = job(to_do) {
                    let result = work(&part, job);
                    if finished.send((i, part, result)).is_err() {
                        break;
                    }
                }
            };
            let started = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, run);
            started.map_err(no_thread)?;
        }
        drop(finished);
        // Out of scope the channel is closed, by which the threads end.
        let jobs = jobs;
        let (mut asked, mut taken, mut waiting) = (0, 0, BTreeMap::new());
        loop {
            while asked < taken + AHEAD * threads
                && let Some(part) = parts.next()
            {
                let read = read(&part)?;
                jobs.send((asked, part, read)).map_err(|_| "a thread ended")?;
                asked += 1;
            }
            if taken == asked {
                return Ok(());
            }
            while !waiting.contains_key(&taken) {
                let (at, part, result) = done.recv().map_err(|_| "a thread ended")?;
                waiting.insert(at, (part, result));
            }
            if let Some((part, result)) = waiting.remove(&taken) {
                take(&part, result)?;
            }
            taken += 1;
        }
    })
}

/// Waits for a job; `None` when there are no more.
fn job<T>(to_do: &Mutex<Receiver<T>>) -> Option<T> {
    to_do.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
