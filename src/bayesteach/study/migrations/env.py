"""How Alembic reaches the database: by the connection that `migrate` holds."""

from alembic import context

from bayesteach.study.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
