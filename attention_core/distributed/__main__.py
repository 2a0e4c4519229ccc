"""``python -m attention_core.distributed``: attention shared by processes, compared with one."""

from attention_core.distributed.sharing import main

if __name__ == "__main__":
    main()
