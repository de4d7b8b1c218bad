//! Reading, work and writing at the same time, in the memory of a few blocks.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, Builder, ScopedJoinHandle};

use crate::io::Block;

type Done = Result<(), String>;

/// Blocks between two stages: one in work on each side.
const BLOCKS: usize = 2;

/// Bytes of a stage's stack. Rust would let `RUST_MIN_STACK` decide.
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

    /// Sends a block off.
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
    source: impl FnMut(&mut Block) -> Result<bool, String> + Send,
    mut work: impl FnMut(&Block, &Outlet) -> Done,
    sink: impl FnMut(&[u8]) -> Done + Send,
) -> Done {
    let (free_in, to_fill) = blocks();
    let (filled, to_work) = sync_channel(BLOCKS);
    let (free_out, to_take) = blocks();
    let (made, to_write) = sync_channel(BLOCKS);
    thread::scope(|s| {
        let stage = || Builder::new().stack_size(STACK_BYTES);
        let reader = stage().spawn_scoped(s, move || read(source, to_fill, filled)).map_err(no_thread)?;
        let writer = stage().spawn_scoped(s, move || write(sink, to_write, free_out)).map_err(no_thread)?;
        let outlet = Outlet { full: made, free: to_take };
        let worked = to_work.iter().try_for_each(|block| {
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

fn read(
    mut source: impl FnMut(&mut Block) -> Result<bool, String>,
    free: Receiver<Block>,
    full: SyncSender<Block>,
) -> Done {
    for mut block in free {
        if !source(&mut block)? || full.send(block).is_err() {
            break;
        }
    }
    Ok(())
}

fn write(mut sink: impl FnMut(&[u8]) -> Done, full: Receiver<Block>, free: Sender<Block>) -> Done {
    for block in full {
        sink(block.data())?;
        let _ = free.send(block); // the worker may have finished
    }
    Ok(())
}

fn join(stage: ScopedJoinHandle<'_, Done>) -> Done {
    stage.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
